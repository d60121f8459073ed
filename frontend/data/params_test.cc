#include "frontend/data/params.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/cat.h"

namespace relay::frontend::data {
namespace {

// The words of the format, by hand.
struct Bytes {
  std::string text;

  template <class T>
  Bytes& add(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u64(uint64_t v) { return add(v); }
  Bytes& i64(int64_t v) { return add(v); }
  Bytes& name(const std::string& s) {
    u64(s.size());
    text += s;
    return *this;
  }
};

constexpr uint64_t kList = 0xF7E58D4F05049CB7, kOne = 0xDD5E40F096B4A13F;

// What a tensor's record says, each field as it should be unless a test damages it.
struct Record {
  uint64_t magic = kOne, reserved = 0;
  int32_t device_type = 1, device_id = 0, rank = 2;
  uint8_t code = 2, bits = 32;
  uint16_t lanes = 1;
  std::vector<int64_t> shape = {1, 2};
  uint64_t bytes = 8;
  std::string data = std::string("\0\0\x80\x3f\0\0\0\x40", 8);  // 1, 2

  void write(Bytes& out) const {
    out.u64(magic).u64(reserved).add(device_type).add(device_id).add(rank).add(code).add(bits).add(lanes);
    for (int64_t extent : shape) out.i64(extent);
    out.u64(bytes);
    out.text += data;
  }
};

struct File {
  uint64_t magic = kList, reserved = 0, names = 1, count = 1;
  std::string name = "w";
  Record record = {};
  std::string rest = {};

  std::string bytes() const {
    Bytes out;
    out.u64(magic).u64(reserved).u64(names).name(name).u64(count);
    record.write(out);
    return out.text + rest;
  }
};

std::string refusal(const std::string& bytes, const Limits& limits = {}) {
  Diagnostics d;
  EXPECT_FALSE(parse_params(bytes, "x.params", limits, d).ok());
  EXPECT_EQ(d.errors(), 1u);
  return d.errors() ? render(d.all().front(), {}) : "";
}

// Damages one field and expects to be told so.
template <class Damage>
void damaged(const Damage& damage, const std::string& words) {
  File f;
  damage(f);
  const std::string said = refusal(f.bytes());
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST(Params, ReadsARecord) {
  Diagnostics d;
  const Result<NamedTensors> read = parse_params(File().bytes(), "x.params", {}, d);
  ASSERT_TRUE(read.ok()) << d.render({});
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].name, "w");
  EXPECT_EQ((*read)[0].value.shape(), (Shape{1, 2}));
  EXPECT_EQ((*read)[0].value.doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(*params_bytes(*read, d), File().bytes()) << "what is written is what was read, byte for byte";
}

TEST(Params, EveryDtypeSurvives) {
  NamedTensors all;
  for (DType dtype : {kBool, kInt4, kInt8, kInt16, kInt32, kInt64, kUInt4, kUInt8, kUInt16, kUInt32, kUInt64,
                      kFloat16, kBFloat16, kFloat32, kFloat64}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{2, 3, 1}}) {
      Tensor t(dtype, shape);
      for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i % 2);
      all.push_back({cat(dtype.name(), show(shape)), t});
    }
  }
  Diagnostics d;
  const Result<std::string> bytes = params_bytes(all, d);
  ASSERT_TRUE(bytes.ok()) << d.render({});
  const Result<NamedTensors> back = parse_params(*bytes, "x.params", {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  ASSERT_EQ(back->size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ((*back)[i].name, all[i].name);
    EXPECT_TRUE(identical((*back)[i].value, all[i].value)) << all[i].name;
  }
  EXPECT_EQ(*params_bytes(*back, d), *bytes);
}

TEST(Params, ABooleanHasOneBit) {
  Diagnostics d;
  const Result<std::string> bytes = params_bytes({{"b", Tensor(kBool, {2})}}, d);
  ASSERT_TRUE(bytes.ok());
  // After the file's head (8 + 8), one name (8 + 8 + 1), the count (8) and the tensor's head
  // (8 + 8 + 8 + 4).
  EXPECT_EQ(bytes->substr(69, 4), std::string("\x01\x01\x01\x00", 4));
}

TEST(Params, EachFieldIsChecked) {
  damaged([](File& f) { f.magic ^= 1; }, "does not start with the word");
  damaged([](File& f) { f.reserved = 1; }, "reserved word is not zero");
  damaged([](File& f) { f.names = 2; }, "it has 2 names for ");
  damaged([](File& f) { f.names = UINT64_MAX; }, "ends within its list of 18446744073709551615 names");
  damaged([](File& f) { f.count = 2; }, "1 names for 2 tensors");
  damaged([](File& f) { f.rest = "more"; }, "last 4 bytes belong to no tensor");
  damaged([](File& f) { f.record.magic = kList; }, "tensor `w`: it does not start with the word");
  damaged([](File& f) { f.record.reserved = 7; }, "tensor `w`: its reserved word");
  damaged([](File& f) { f.record.device_type = 2; }, "device 2.0");
  damaged([](File& f) { f.record.device_id = 1; }, "device 1.1");
  damaged([](File& f) { f.record.rank = -1; }, "it has -1 dimensions");
  damaged([](File& f) { f.record.rank = 1000; }, "it has 1000 dimensions");
  damaged([](File& f) { f.record.code = 3; }, "dtype code 3 of 32 bits");
  damaged([](File& f) { f.record.code = 6; }, "writers disagree");
  damaged([](File& f) { f.record.code = 4; }, "dtype code 4 of 32 bits");
  damaged([](File& f) { f.record.bits = 24; }, "24 bits");
  damaged([](File& f) { f.record.lanes = 4; }, "4 lanes");
  damaged([](File& f) { f.record.shape[0] = -1; }, "negative extent");
  damaged([](File& f) { f.record.shape = {INT64_MAX, INT64_MAX}; }, "too large");
  damaged([](File& f) { f.record.shape[1] = 3; }, "needs 12 bytes and it has 8");
  damaged([](File& f) { f.record.bytes = 4; }, "needs 8 bytes and it has 4");
  damaged([](File& f) { f.record.data.pop_back(); }, "ends within its elements");
}

TEST(Params, EveryPrefixIsRefused) {
  const std::string whole = File().bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    Diagnostics d;
    EXPECT_FALSE(parse_params(whole.substr(0, length), "x.params", {}, d).ok()) << length;
    EXPECT_EQ(d.errors(), 1u) << length;
  }
}

TEST(Params, RefusesTwoOfAName) {
  Bytes b;
  b.u64(kList).u64(0).u64(2).name("w").name("w").u64(2);
  EXPECT_NE(refusal(b.text).find("two tensors are called `w`"), std::string::npos);
  Diagnostics d;
  EXPECT_FALSE(params_bytes({{"a", Tensor(kInt8, {})}, {"a", Tensor(kInt8, {})}}, d).ok());
}

TEST(Params, RefusesMoreThanTheLimit) {
  Limits none;
  none.tensors = 0;
  EXPECT_NE(refusal(File().bytes(), none).find("[limit-tensors]"), std::string::npos);
}

TEST(Params, FourBitsHoldNoMore) {
  File f;
  f.record.code = 0;
  f.record.bits = 4;
  f.record.bytes = 2;
  f.record.data = "\x07\x08";
  EXPECT_NE(refusal(f.bytes()).find("4 bits do not hold"), std::string::npos);
}

TEST(Params, CannotHoldWhatWritersDisagreeAbout) {
  Diagnostics d;
  EXPECT_FALSE(params_bytes({{"a", Tensor(kFloat8E4M3, {1})}}, d).ok());
  EXPECT_NE(d.render({}).find("cannot hold float8_e4m3, the dtype of `a`"), std::string::npos)
      << d.render({});
}

}  // namespace
}  // namespace relay::frontend::data
