#include "frontend/data/written_value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace relay::frontend::data {
namespace {

// The tensor's text, or why there is none.
std::string made(const char* text, DType dtype, const Shape& shape = {}) {
  const std::optional<WrittenValue> value = parse_value(text);
  if (!value) return "no value";
  Tensor t;
  const std::string wrong = make_tensor(*value, dtype, shape, t);
  return wrong.empty() ? show(t) : wrong;
}

TEST(WrittenValue, IsOneNumberOrAList) {
  EXPECT_EQ(made("16000", kInt64), "Tensor[(), int64] 16000");
  EXPECT_EQ(made(" -2.5 ", kFloat32), "Tensor[(), float32] -2.5");
  EXPECT_EQ(made("true", kBool), "Tensor[(), bool] True");
  EXPECT_EQ(made("[1, 2,-3]", kInt32, {3}), "Tensor[(3,), int32] [1, 2, -3]");
  EXPECT_EQ(made("[1,2,3,4]", kFloat32, {2, 2}), "Tensor[(2, 2), float32] [[1, 2], [3, 4]]");
  EXPECT_EQ(made("[ ]", kInt32, {0}), "Tensor[(0,), int32] []");
  EXPECT_EQ(made("[false,true]", kBool, {2}), "Tensor[(2,), bool] [False, True]");
  EXPECT_EQ(show(*parse_value("[1, 2,3]")), "[1, 2, 3]");
}

TEST(WrittenValue, IsOrIsInAFile) {
  const std::optional<WrittenValue> value = parse_value(" d/w.npy ");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->file, "d/w.npy");
  EXPECT_EQ(show(*value), "`d/w.npy`");
  WrittenValue read = *value;
  read.tensor = Tensor::scalar_int(kInt64, 3);
  Tensor out;
  EXPECT_EQ(make_tensor(read, kInt64, {}, out), "");
  EXPECT_EQ(out.get_int(0), 3);
  EXPECT_EQ(make_tensor(read, kInt32, {}, out), "it holds Tensor[(), int64], not Tensor[(), int32]");
  EXPECT_NE(make_tensor(read, kInt64, {1}, out), "");
}

TEST(WrittenValue, OneNumberIsEveryElement) {
  EXPECT_EQ(made("7", kInt8, {2, 2}), "Tensor[(2, 2), int8] [[7, 7], [7, 7]]");
  EXPECT_EQ(made("7", kInt8, {0}), "Tensor[(0,), int8] []");
}

TEST(WrittenValue, KeepsAllBits) {
  EXPECT_EQ(made("9223372036854775807", kInt64), "Tensor[(), int64] 9223372036854775807");
  EXPECT_EQ(made("-9223372036854775808", kInt64), "Tensor[(), int64] -9223372036854775808");
  EXPECT_EQ(made("18446744073709551615", kUInt64), "Tensor[(), uint64] 18446744073709551615");
  Tensor t;
  ASSERT_EQ(make_tensor(*parse_value("[inf, -inf, nan]"), kFloat32, {3}, t), "");
  EXPECT_EQ(t.get(0), INFINITY);
  EXPECT_EQ(t.get(1), -INFINITY);
  EXPECT_TRUE(std::isnan(t.get(2)));
}

TEST(WrittenValue, RefusesWhatIsNone) {
  for (const char* text : {"", " ", "fast", "16k", "1 2", "1,2", "[1", "1]", "[1,]", "[,]", "[[1]]", "0x10",
                           "True", "--1", "[1 2]"})
    EXPECT_FALSE(parse_value(text)) << text;
}

TEST(WrittenValue, RefusesWhatTheDtypeDoesNotHold) {
  EXPECT_EQ(made("1.5", kInt64), "`1.5` is no int64");
  EXPECT_EQ(made("1e3", kInt64), "`1e3` is no int64");
  EXPECT_EQ(made("true", kInt64), "`true` is no int64");
  EXPECT_EQ(made("9223372036854775808", kInt64), "`9223372036854775808` is no int64");
  EXPECT_EQ(made("300", kUInt8), "`300` is no uint8");
  EXPECT_EQ(made("-1", kUInt8), "`-1` is no uint8");
  EXPECT_EQ(made("-1", kUInt64), "`-1` is no uint64");
  EXPECT_EQ(made("[1, 8]", kInt4, {2}), "`8` is no int4");
  EXPECT_EQ(made("1", kBool), "`1` is no bool");
  EXPECT_EQ(made("1e39", kFloat32), "`1e39` is no float32");
  EXPECT_EQ(made("1e400", kFloat64), "`1e400` is no float64");
  EXPECT_EQ(made("70000", kFloat16), "`70000` is no float16");
}

TEST(WrittenValue, AListHasAsManyElementsAsTheTensor) {
  EXPECT_EQ(made("[1, 2]", kInt64, {3}), "it has 3 elements and the list 2");
  EXPECT_EQ(made("[1, 2]", kInt64), "it has 1 element and the list 2");
  EXPECT_EQ(made("[1]", kInt64), "Tensor[(), int64] 1");
}

}  // namespace
}  // namespace relay::frontend::data
