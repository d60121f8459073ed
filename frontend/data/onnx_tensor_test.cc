#include "frontend/data/onnx_tensor.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/cat.h"
#include "base/file.h"

namespace relay::frontend::data {
namespace {

using ::onnx::TensorProto;

struct Outcome {
  std::optional<Tensor> tensor;
  std::string slug, message;
};

Outcome read(const TensorProto& proto, const std::string* folder = nullptr) {
  Diagnostics d;
  Result<Tensor> t = tensor_of(proto, "m.onnx", folder, Span::none(), d);
  EXPECT_EQ(t.ok(), !d.has_errors());
  Outcome out;
  if (t.ok()) out.tensor = *t;
  if (d.has_errors()) {
    out.slug = d.all().back().slug().name();
    for (const Diagnostic& one : d.all()) out.message += one.message() + "\n";
  }
  return out;
}

TensorProto proto_of(int32_t code, std::vector<int64_t> dims) {
  TensorProto p;
  p.set_name("w");
  p.set_data_type(code);
  for (int64_t d : dims) p.add_dims(d);
  return p;
}

TEST(OnnxTensor, RoundTripOfEveryDType) {
  for (DType dtype : {kBool, kInt4, kUInt4, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64,
                      kFloat16, kBFloat16, kFloat32, kFloat64, kFloat8E4M3, kFloat8E5M2}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}}) {
      Tensor t(dtype, shape);
      for (int64_t i = 0; i < t.size(); ++i)
        t.set_int(i, dtype.is_bool() ? i % 2 : i - (dtype.is_signed_int() ? 2 : 0));
      Diagnostics d;
      const Result<NamedTensor> back = parse_onnx_tensor(onnx_tensor_bytes({"w", t}), "w.pb", d);
      ASSERT_TRUE(back.ok()) << dtype.name() << d.render({});
      EXPECT_EQ(back->name, "w");
      EXPECT_TRUE(identical(back->value, t)) << dtype.name() << show(shape);
    }
  }
}

TEST(OnnxTensor, ReadsTheTypedFields) {
  TensorProto floats = proto_of(TensorProto::FLOAT, {2});
  floats.add_float_data(1.5);
  floats.add_float_data(-2);
  EXPECT_EQ(read(floats).tensor->doubles(), (std::vector<double>{1.5, -2}));
  TensorProto halves = proto_of(TensorProto::FLOAT16, {1});
  halves.add_int32_data(0x3e00);
  EXPECT_EQ(read(halves).tensor->get(0), 1.5);
  TensorProto large = proto_of(TensorProto::UINT64, {1});
  large.add_uint64_data(UINT64_MAX);
  EXPECT_EQ(read(large).tensor->as<uint64_t>()[0], UINT64_MAX);
  TensorProto truth = proto_of(TensorProto::BOOL, {2});
  truth.add_int32_data(5);
  truth.add_int32_data(0);
  EXPECT_EQ(read(truth).tensor->ints(), (std::vector<int64_t>{1, 0}));
  TensorProto nibbles = proto_of(22, {3});
  nibbles.add_int32_data(0x9f);
  nibbles.add_int32_data(0x07);
  EXPECT_EQ(read(nibbles).tensor->ints(), (std::vector<int64_t>{-1, -7, 7}));
}

// Elements that no dtype of Relay is: patterns of floats in uint8, integers of two bits by value.
TEST(OnnxTensor, ReadsPackedElements) {
  const auto read_raw = [](int32_t code, int64_t count, std::string bytes) {
    TensorProto p = proto_of(code, {count});
    p.set_raw_data(std::move(bytes));
    const Outcome o = read(p);
    EXPECT_TRUE(o.tensor) << o.message;
    return o.tensor.value_or(Tensor());
  };
  EXPECT_EQ(read_raw(23, 3, "\x9f\x07").ints(), (std::vector<int64_t>{15, 9, 7}));
  EXPECT_EQ(read_raw(24, 2, "\x7f\xff").ints(), (std::vector<int64_t>{127, 255}));
  EXPECT_EQ(read_raw(25, 5, "\x1b\x02").ints(), (std::vector<int64_t>{3, 2, 1, 0, 2}));
  EXPECT_EQ(read_raw(26, 5, "\x1b\x02").ints(), (std::vector<int64_t>{-1, -2, 1, 0, -2}));
  EXPECT_EQ(read_raw(26, 5, "\x1b\x02").dtype(), kInt8);
  // Four elements in three bytes: 1, 2, 62, 63, and one more.
  EXPECT_EQ(read_raw(27, 5, "\x81\xe0\xff\x05").ints(), (std::vector<int64_t>{1, 2, 62, 63, 5}));
  EXPECT_EQ(read_raw(28, 1, "\x20").ints(), (std::vector<int64_t>{32}));

  TensorProto fours = proto_of(23, {3}), twos = proto_of(25, {5}), sixes = proto_of(27, {2});
  for (int32_t v : {0x9f, 0x07}) fours.add_int32_data(v);
  for (int32_t v : {0x1b, 0x02}) twos.add_int32_data(v);
  for (int32_t v : {63, 1}) sixes.add_int32_data(v);
  EXPECT_EQ(read(fours).tensor->ints(), (std::vector<int64_t>{15, 9, 7}));
  EXPECT_EQ(read(twos).tensor->ints(), (std::vector<int64_t>{3, 2, 1, 0, 2}));
  EXPECT_EQ(read(sixes).tensor->ints(), (std::vector<int64_t>{63, 1}));
}

TEST(OnnxTensor, RefusesWhatIsNotSound) {
  const auto with = [](TensorProto p, const std::function<void(TensorProto&)>& change) {
    change(p);
    return p;
  };
  const TensorProto two = proto_of(TensorProto::FLOAT, {2});
  struct Bad {
    TensorProto proto;
    std::string message, slug = "onnx-tensor-invalid";
  };
  const Bad bad[] = {
      {two, "needs 2 elements and it has 0"},
      {with(two, [](auto& p) { p.add_float_data(1); }), "needs 2 elements and it has 1"},
      {with(two, [](auto& p) { p.set_raw_data("1234567"); }), "needs 8 bytes and it has 7"},
      {with(two, [](auto& p) { p.set_raw_data("123456789"); }), "needs 8 bytes and it has 9"},
      {with(two,
            [](auto& p) {
              p.add_int32_data(1);
              p.add_int32_data(2);
            }),
       "not in the field that FLOAT uses"},
      {proto_of(TensorProto::STRING, {1}), "type STRING are not supported", "unsupported-dtype"},
      {proto_of(TensorProto::COMPLEX64, {1}), "type COMPLEX64 are not supported", "unsupported-dtype"},
      {proto_of(TensorProto::UNDEFINED, {1}), "not supported", "unsupported-dtype"},
      {proto_of(77, {1}), "data type 77", "unsupported-dtype"},
      {with(proto_of(26, {5}), [](auto& p) { p.set_raw_data("1"); }), "of INT2 needs 2 bytes and it has 1"},
      {with(proto_of(27, {5}), [](auto& p) { p.set_raw_data("123"); }),
       "of FLOAT6E2M3 needs 4 bytes and it has 3"},
      {with(proto_of(23, {3}), [](auto& p) { p.add_int32_data(1); }), "needs 3 elements and it has 1"},
      {proto_of(25, {int64_t{1} << 59}), "and it has 0"},
      {proto_of(TensorProto::FLOAT, {-1}), "negative extent"},
      {proto_of(TensorProto::FLOAT, {int64_t{1} << 62, 4}), "too large"},
      {proto_of(TensorProto::FLOAT, {int64_t{1} << 62}), "too large"},
      {proto_of(TensorProto::FLOAT, {int64_t{1} << 40}), "and it has 0"},
      {with(two, [](auto& p) { p.mutable_segment()->set_begin(0); }), "segments", "unsupported-tensor"},
      {with(two, [](auto& p) { p.set_data_location(TensorProto::EXTERNAL); }), "in another file",
       "external-data-refused"},
      {with(two,
            [](auto& p) {
              p.add_external_data()->set_key("location");
              p.set_raw_data("12345678");
            }),
       "does not say so"},
  };
  for (const auto& [proto, expected, slug] : bad) {
    const Outcome o = read(proto);
    EXPECT_TRUE(o.message.starts_with("tensor `w` of `m.onnx`: ")) << o.message;
    EXPECT_EQ(o.slug, slug);
    EXPECT_NE(o.message.find(expected), std::string::npos) << o.message << " <- " << expected;
  }
  Diagnostics d;
  EXPECT_FALSE(parse_onnx_tensor("not a message", "x.pb", d).ok());
  EXPECT_FALSE(parse_onnx_tensor(std::string(300, '\x0b'), "x.pb", d).ok());  // groups, nested
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(outside_.make(), "");
    folder_ = outside_.path() + "/model";
    std::filesystem::create_directories(folder_ + "/sub");
    write(folder_ + "/w.bin", "....12345678");
    write(folder_ + "/sub/w.bin", "12345678");
    write(outside_.path() + "/secret.bin", "12345678");
  }
  static void write(const std::string& path, const std::string& text) {
    ASSERT_EQ(write_file_atomically(path, text), "");
  }

  Outcome external(const std::vector<std::pair<std::string, std::string>>& entries) {
    TensorProto p = proto_of(TensorProto::FLOAT, {2});
    p.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto* e = p.add_external_data();
      e->set_key(key);
      e->set_value(value);
    }
    return read(p, &folder_);
  }

  TemporaryFolder outside_;
  std::string folder_;
};

TEST_F(ExternalData, IsRead) {
  const Outcome o = external({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}});
  ASSERT_TRUE(o.tensor) << o.message;
  EXPECT_EQ(std::string(static_cast<const char*>(o.tensor->data()), 8), "12345678");
  EXPECT_TRUE(external({{"location", "sub/w.bin"}}).tensor);
  EXPECT_TRUE(external({{"location", "./sub//w.bin"}, {"checksum", "abc"}}).tensor);
}

TEST_F(ExternalData, RefusesWhatLeavesTheFolder) {
  std::filesystem::create_symlink(outside_.path() + "/secret.bin", folder_ + "/link.bin");
  std::filesystem::create_symlink(outside_.path(), folder_ + "/up");
  std::filesystem::create_symlink("sub", folder_ + "/inner");
  std::filesystem::create_hard_link(outside_.path() + "/secret.bin", folder_ + "/hard.bin");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  const std::pair<std::string, std::string> bad[] = {
      {"../secret.bin", "contains `..`"},
      {"sub/../../secret.bin", "contains `..`"},
      {"sub/../w.bin", "contains `..`"},
      {"..", "contains `..`"},
      {outside_.path() + "/secret.bin", "absolute path"},
      {"/etc/passwd", "absolute path"},
      {"link.bin", "`link.bin` is a symbolic link"},
      {"up/secret.bin", "`up` is a symbolic link"},
      {"inner/w.bin", "`inner` is a symbolic link"},
      {"hard.bin", "hard links"},
      {"pipe", "not a regular file"},
      {"sub", "not a regular file"},
      {"sub/", "names no file"},
      {".", "names no file"},
      {"", "no location"},
      {"nothing.bin", "cannot be opened"},
      {"w.bin/x", "cannot be opened"},
      {"..\\secret.bin", "backslash"},
      {std::string("w.bin\0/../../secret.bin", 22), "zero byte"},
      {std::string(5000, 'a'), "longer than"},
      {"/dev/zero", "absolute path"},
  };
  for (const auto& [location, expected] : bad) {
    const Outcome o = external({{"location", location}});
    EXPECT_FALSE(o.tensor) << location;
    EXPECT_EQ(o.slug, "external-data-refused");
    EXPECT_NE(o.message.find(expected), std::string::npos) << o.message << " <- " << expected;
  }
}

TEST_F(ExternalData, RefusesRangesThatDoNotFit) {
  using Entries = std::vector<std::pair<std::string, std::string>>;
  const std::pair<Entries, std::string> bad[] = {
      {{{"location", "w.bin"}, {"offset", "5"}}, "needs 8 bytes and `w.bin` has 12"},
      {{{"location", "w.bin"}, {"offset", "13"}}, "has 12"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "has 12"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551616"}}, "offset is no number"},
      {{{"location", "w.bin"}, {"offset", "-1"}}, "offset is no number"},
      {{{"location", "w.bin"}, {"offset", ""}}, "offset is no number"},
      {{{"location", "w.bin"}, {"offset", "4x"}}, "offset is no number"},
      {{{"location", "w.bin"}, {"length", "7"}}, "needs 8 bytes and its external data has 7"},
      {{{"location", "w.bin"}, {"length", "4503599627370496"}}, "needs 8 bytes"},
      {{{"location", "w.bin"}, {"length", "-8"}}, "length is no number"},
      {{{"location", "w.bin"}, {"location", "sub/w.bin"}}, "two locations"},
      {{{"location", "w.bin"}, {"__class__", "x"}}, "unknown key"},
      {{{"offset", "0"}}, "no location"},
      {{}, "no location"},
  };
  for (const auto& [entries, expected] : bad) {
    const Outcome o = external(entries);
    EXPECT_FALSE(o.tensor) << expected;
    EXPECT_NE(o.message.find(expected), std::string::npos) << o.message << " <- " << expected;
  }
}

TEST_F(ExternalData, RefusesATensorOfPetabytes) {
  TensorProto p = proto_of(TensorProto::FLOAT, {int64_t{1} << 50});
  p.set_data_location(TensorProto::EXTERNAL);
  auto* e = p.add_external_data();
  e->set_key("location");
  e->set_value("w.bin");
  EXPECT_FALSE(read(p, &folder_).tensor);
}

}  // namespace
}  // namespace relay::frontend::data
