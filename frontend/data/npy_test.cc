#include "frontend/data/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/cat.h"

namespace relay::frontend::data {
namespace {

std::string file(std::string header, std::string payload, char version = 1) {
  std::string out("\x93NUMPY", 6);
  out += version;
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out + header + payload;
}

std::string header(std::string descr, std::string shape, std::string order = "False") {
  return cat("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape, ", }\n");
}

// The message of the one error that reading gives.
std::string refusal(const std::string& bytes) {
  Diagnostics d;
  EXPECT_FALSE(parse_npy(bytes, "x.npy", d).ok());
  EXPECT_EQ(d.errors(), 1u);
  if (d.errors() == 0) return "";
  EXPECT_TRUE(d.all().front().slug().name().starts_with("npy-")) << d.all().front().slug().name();
  EXPECT_TRUE(d.all().front().message().starts_with("cannot read `x.npy`: ")) << d.all().front().message();
  return d.all().front().message();
}

Tensor read(const std::string& bytes) {
  Diagnostics d;
  Result<Tensor> t = parse_npy(bytes, "x.npy", d);
  EXPECT_TRUE(t.ok()) << d.render({});
  return t.ok() ? *t : Tensor();
}

TEST(Npy, RoundTripOfEveryDType) {
  for (DType dtype : {kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64, kFloat16,
                      kFloat32, kFloat64}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 3}, Shape{2, 3}, Shape{1, 1, 1, 4}}) {
      Tensor t(dtype, shape);
      for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i % 2 + (dtype.is_bool() ? 0 : i));
      EXPECT_TRUE(identical(read(npy_bytes(t)), t)) << dtype.name() << show(shape);
    }
  }
}

TEST(Npy, ElementsStartAtAMultipleOf64) {
  const std::string bytes = npy_bytes(Tensor(kFloat32, {5}));
  EXPECT_EQ((bytes.size() - 20) % 64, 0u);
}

TEST(Npy, WhatNumpyHasNotIsWrittenExactly) {
  const Tensor halves = Tensor::of<double>(kBFloat16, {2}, std::vector<double>{1.5, -3});
  EXPECT_TRUE(identical(read(npy_bytes(halves)), halves.converted(kFloat32)));
  const Tensor nibbles = Tensor::of<int>(kInt4, {2}, std::vector<int>{-8, 7});
  EXPECT_TRUE(identical(read(npy_bytes(nibbles)), nibbles.converted(kInt8)));
}

TEST(Npy, Version2And3) {
  for (char version : {2, 3}) {
    EXPECT_EQ(read(file(header("|u1", "(2,)"), "ab", version)).ints(), (std::vector<int64_t>{97, 98}));
  }
}

TEST(Npy, BigEndianIsTurned) {
  EXPECT_EQ(read(file(header(">i2", "(2,)"), std::string("\x01\x02\xff\xfe", 4))).ints(),
            (std::vector<int64_t>{258, -2}));
}

TEST(Npy, ColumnMajorIsTurned) {
  EXPECT_EQ(read(file(header("|i1", "(2, 3)", "True"), "\x01\x02\x03\x04\x05\x06")).ints(),
            (std::vector<int64_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read(file(header("|i1", "(2, 1, 2)", "True"), "\x01\x02\x03\x04")).ints(),
            (std::vector<int64_t>{1, 3, 2, 4}));
  EXPECT_EQ(read(file(header("|i1", "(2, 0, 2)", "True"), "")).size(), 0);
}

TEST(Npy, ABoolIsZeroOrOne) {
  EXPECT_EQ(read(file(header("|b1", "(2,)"), std::string("\x07\x00", 2))).ints(),
            (std::vector<int64_t>{1, 0}));
}

struct Bad {
  std::string bytes, message;
};

TEST(Npy, RefusesWhatIsNotSound) {
  const std::string good = npy_bytes(Tensor(kFloat32, {2}));
  const Bad bad[] = {
      {"", "not a .npy file"},
      {"PK\x03\x04 something else", "not a .npy file"},
      {good.substr(0, 9), "not a .npy file"},
      {good.substr(0, 40), "ends within its header"},
      {good.substr(0, good.size() - 1), "needs 8 bytes and it has 7"},
      {good + "x", "needs 8 bytes and it has 9"},
      {file(header("<f4", "(2,)"), "12345678", 4), "version 4.0 is unknown"},
      {file(header("|O", "(2,)"), "12345678"), "pickled Python objects"},
      {file(header("|O8", "(2,)"), "12345678"), "pickled Python objects"},
      {file(header("<c8", "(1,)"), "12345678"), "dtype `<c8` is not supported"},
      {file(header("<U1", "(2,)"), "12345678"), "dtype `<U1` is not supported"},
      {file(header("<M8[ns]", "(1,)"), "12345678"), "is not supported"},
      {file(header("xf4", "(2,)"), "12345678"), "unknown byte order"},
      {file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "12345678"),
       "holds records"},
      {file("{'descr': '<f4', 'shape': (2,), }", "12345678"), "needs `descr`, `fortran_order` and `shape`"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "12345678"),
       "unknown key `more`"},
      {file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "12345678"),
       "`descr` twice"},
      {file("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "12345678"), "neither True nor False"},
      {file(header("<f4", "(-2,)"), ""), "no size"},
      {file(header("<f4", "(99999999999999999999,)"), ""), "no size"},
      {file(header("<f4", "(4611686018427387904, 4611686018427387904)"), ""), "too large"},
      {file(header("<f8", "(2305843009213693952,)"), ""), "too large"},
      {file(header("<f4", "(1000000000000,)"), "12345678"), "and it has 8"},
      {file(header("<f4", "[2]"), "12345678"), "not a tuple"},
      {file(header("<f4", "(2"), "12345678"), "no size"},
      {file("(1, 2)", "12345678"), "not a dictionary"},
      {file("{'descr': '<f4'", ""), "does not end"},
      {file(header("<f4", "(2,)") + "; import os", "12345678"), "followed by other text"},
      {file(header(
                "<f4", "(" +
                           [] {
                             std::string s;
                             for (int i = 0; i < 65; ++i) s += "1, ";
                             return s;
                           }() +
                           ")"),
            "1234"),
       "more than 64 dimensions"},
  };
  for (const Bad& b : bad)
    EXPECT_NE(refusal(b.bytes).find(b.message), std::string::npos) << refusal(b.bytes) << " <- " << b.message;
}

TEST(Npy, SaysWhereAndWhatToDoInstead) {
  EXPECT_NE(refusal(file("{'descr': '<f4', 'more': 1}", "")).find("unknown key `more` (byte 34)"),
            std::string::npos)
      << refusal(file("{'descr': '<f4', 'more': 1}", ""));
  EXPECT_NE(refusal(file(header("|O", "(2,)"), "")).find("save it as a plain array"), std::string::npos);
  EXPECT_NE(refusal(file(header("<c8", "(1,)"), "")).find("convert it with `astype`"), std::string::npos);
  EXPECT_NE(refusal(file("{'descr': [('a', '<f4')]}", "")).find("save each field by itself"),
            std::string::npos);
}

TEST(Npy, RefusesAHeaderThatIsTooLong) {
  std::string bytes("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12);
  EXPECT_NE(refusal(bytes + "{").find("is longer than"), std::string::npos);
}

}  // namespace
}  // namespace relay::frontend::data
