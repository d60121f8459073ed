#include "frontend/data/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/cat.h"
#include "base/file.h"

namespace relay::frontend::data {
namespace {

std::string bytes_of(const Safetensors& contents) {
  Diagnostics d;
  Result<std::string> bytes = safetensors_bytes(contents, d);
  EXPECT_TRUE(bytes.ok()) << d.render({});
  return bytes.ok() ? *bytes : "";
}

std::string file(std::string header, std::string payload) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + payload;
}

Safetensors sample() {
  Safetensors out;
  int64_t n = 0;
  for (DType dtype : {kBool, kInt4, kUInt4, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64,
                      kFloat16, kBFloat16, kFloat32, kFloat64, kFloat8E4M3, kFloat8E5M2}) {
    Tensor t(dtype, {++n % 4, 2});
    for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i % 2);
    out.tensors.push_back({cat("t.", dtype.name()), t});
  }
  out.tensors.push_back({"scalar \"quoted\"", Tensor::scalar(kFloat32, 3)});
  out.metadata["format"] = "relay";
  return out;
}

void expect_same(const Safetensors& a, const Safetensors& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  EXPECT_EQ(a.metadata, b.metadata);
  for (const NamedTensor& t : a.tensors) {
    const auto same = std::find_if(b.tensors.begin(), b.tensors.end(),
                                   [&](const NamedTensor& u) { return u.name == t.name; });
    ASSERT_NE(same, b.tensors.end()) << t.name;
    EXPECT_TRUE(identical(same->value, t.value)) << t.name;
  }
}

TEST(Safetensors, RoundTrip) {
  Diagnostics d;
  const Result<Safetensors> back = parse_safetensors(bytes_of(sample()), "x", {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  expect_same(sample(), *back);
}

TEST(Safetensors, MapsAFile) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string path = folder.path() + "/x.safetensors";
  ASSERT_EQ(write_file_atomically(path, bytes_of(sample())), "");
  Diagnostics d;
  Result<Safetensors> back = map_safetensors(path, {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  expect_same(sample(), *back);
  const NamedTensor kept = back->tensors[3];  // the file's order is another one
  back = kReported;                           // a tensor keeps the mapping alive
  const std::vector<NamedTensor> all = sample().tensors;
  const auto written =
      std::find_if(all.begin(), all.end(), [&](const NamedTensor& t) { return t.name == kept.name; });
  ASSERT_NE(written, all.end());
  EXPECT_TRUE(identical(kept.value, written->value));
}

TEST(Safetensors, TensorsAreAligned) {
  const std::string bytes = bytes_of(sample());
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
}

TEST(Safetensors, EqualContentsGiveEqualBytes) { EXPECT_EQ(bytes_of(sample()), bytes_of(sample())); }

TEST(Safetensors, ReadsTheEmptyFile) {
  Diagnostics d;
  EXPECT_TRUE(parse_safetensors(file("{}", ""), "x", {}, d).ok());
}

TEST(Safetensors, RefusesWhatIsNotSound) {
  const std::string one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string data = "12345678";
  const std::pair<std::string, std::string> bad[] = {
      {"", "less than 8 bytes"},
      {"1234567", "less than 8 bytes"},
      {std::string("\x00\x00\x00\x00\x00\x00\x00\x80", 8) + "{}", "longer than"},
      {std::string("\x00\x01\x00\x00\x00\x00\x00\x00", 8) + "{}", "ends within its header"},
      {file("", ""), "does not start with `{`"},
      {file(" {}", ""), "does not start with `{`"},
      {file("[]", ""), "does not start with `{`"},
      {file("{", ""), "not JSON"},
      {file("{} {}", ""), "not JSON"},
      {file("{\"a\":1}", ""), "a number where none belongs"},
      {file("{\"a\":{\"b\":{}}}", ""), "nested too deeply"},
      {file("{\"a\":[]}", ""), "a list where none belongs"},
      {file(one, ""), "ends at byte 8 of 0"},
      {file(one, "1234567"), "ends at byte 8 of 7"},
      {file(one, data + "9"), "belong to no tensor"},
      {file(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data),
       "needs 12 bytes and it has 8"},
      {file(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", data), "unknown dtype"},
      {file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", data), "starts at byte 8"},
      {file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data), "starts at byte 4"},
      {file(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data), "negative number"},
      {file(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", data), "fraction"},
      {file(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", data), "no size"},
      {file(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", data),
       "too large"},
      {file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", data), "more than two"},
      {file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", data), "needs `dtype`"},
      {file(R"({"a":{"dtype":"F32","shape":[2]}})", data), "needs `dtype`"},
      {file(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", data), "needs `dtype`"},
      {file(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data), "two dtypes"},
      {file(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           data),
       "`a` twice"},
      {file(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           data),
       "starts at byte 4"},
      {file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"color":"red"}})", data),
       "a string where none belongs"},
      {file(R"({"__metadata__":{"a":1}})", ""), "a number where none belongs"},
      {file(R"({"__metadata__":{"a":"1","a":"2"}})", ""), "`a` twice"},
      {file(R"({"a":null})", ""), "a null"},
      {file(R"({"a":true})", ""), "a boolean"},
      {file("{\"a\xff\":1}", ""), "not JSON"},
  };
  for (const auto& [bytes, expected] : bad) {
    Diagnostics d;
    EXPECT_FALSE(parse_safetensors(bytes, "x", {}, d).ok()) << expected;
    ASSERT_EQ(d.errors(), 1u);
    EXPECT_NE(d.all().front().message().find(expected), std::string::npos)
        << d.all().front().message() << " <- " << expected;
  }
}

TEST(Safetensors, RefusesDeepNestingWithoutRecursion) {
  Diagnostics d;
  EXPECT_FALSE(parse_safetensors(file("{\"a\":" + std::string(1 << 20, '['), ""), "x", {}, d).ok());
}

TEST(Safetensors, RefusesMoreTensorsThanTheLimit) {
  Limits few;
  few.tensors = 3;
  Diagnostics d;
  EXPECT_FALSE(parse_safetensors(bytes_of(sample()), "x", few, d).ok());
}

TEST(Safetensors, RefusesToWriteWhatTheFormatDoesNotHold) {
  const std::pair<Safetensors, std::string> bad[] = {
      {{{{"a", Tensor(kInt8, {1})}, {"a", Tensor(kInt8, {1})}}, {}},
       "two tensors are called `a`; rename one"},
      {{{{"__metadata__", Tensor(kInt8, {1})}}, {}}, "`__metadata__` is a word of the format"},
      {{{{"ok", Tensor(kInt8, {1})}, {"\xff", Tensor(kInt16, {1, 3})}}, {}},
       "the name of a tensor of int16(1, 3) is not UTF-8 text; rename it"},
      {{{}, {{"key", "\xff"}}}, "a text of its metadata is not UTF-8"}};
  for (const auto& [contents, expected] : bad) {
    Diagnostics d;
    EXPECT_FALSE(safetensors_bytes(contents, d).ok()) << expected;
    ASSERT_EQ(d.errors(), 1u);
    EXPECT_EQ(d.all().front().slug().name(), "safetensors-unwritable");
    EXPECT_NE(d.all().front().message().find(expected), std::string::npos) << d.all().front().message();
  }
}

}  // namespace
}  // namespace relay::frontend::data
