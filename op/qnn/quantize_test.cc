#include <cmath>

#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

Tensor floats(Shape shape, const std::vector<double>& values) {
  return tensor<double>(kFloat32, std::move(shape), values);
}
Tensor integers(DType d, Shape shape, const std::vector<int64_t>& values) {
  return tensor<int64_t>(d, std::move(shape), values);
}

TEST(Quantize, RoundsHalvesToEvenAndSaturates) {
  const Tensor x = floats({9}, {0, 0.25, 0.75, 1.25, -0.25, -0.75, 100, -100, 1e30});
  const Tensor scale = Tensor::scalar(kFloat32, 0.5);
  EXPECT_EQ(evaluate(kQnnQuantize, {x, scale, Tensor::scalar_int(kInt32, 0)}).ints(),
            (std::vector<int64_t>{0, 0, 2, 2, 0, -2, 127, -128, 127}));
  EXPECT_EQ(evaluate(kQnnQuantize, {x, scale, Tensor::scalar_int(kInt32, 3)}, {{"out_dtype", kUInt8}}).ints(),
            (std::vector<int64_t>{3, 3, 5, 5, 3, 1, 203, 0, 255}));
  EXPECT_EQ(
      evaluate(kQnnQuantize, {Tensor::scalar(kFloat32, NAN), scale, Tensor::scalar_int(kInt32, 3)}).ints(),
      (std::vector<int64_t>{0}));
}

TEST(Quantize, ByChannel) {
  const Tensor x = floats({1, 2, 2}, {1, 2, 3, 4}), scale = floats({2}, {1, 0.5}),
               zero = integers(kInt8, {2}, {0, 10});
  EXPECT_EQ(evaluate(kQnnQuantize, {x, scale, zero}, {{"axis", int64_t{1}}}).ints(),
            (std::vector<int64_t>{1, 2, 16, 18}));
  EXPECT_EQ(evaluate(kQnnQuantize, {x, scale, zero}).ints(), (std::vector<int64_t>{1, 14, 3, 18}));
}

TEST(Dequantize, IsTheInverse) {
  const Tensor q = integers(kInt8, {4}, {-128, -1, 0, 127});
  EXPECT_EQ(
      evaluate(kQnnDequantize, {q, Tensor::scalar(kFloat32, 0.25), Tensor::scalar_int(kInt32, -1)}).doubles(),
      (std::vector<double>{-31.75, 0, 0.25, 32}));
  const Tensor unsigned_q = integers(kUInt8, {2, 2}, {0, 255, 128, 1});
  EXPECT_EQ(evaluate(kQnnDequantize, {unsigned_q, floats({2}, {1, 2}), integers(kUInt8, {2}, {128, 0})},
                     {{"axis", int64_t{0}}})
                .doubles(),
            (std::vector<double>{-128, 127, 256, 2}));
}

TEST(Requantize, BothRoundings) {
  const Tensor q = integers(kInt32, {6}, {1, 3, -1, -3, 1000, -1000});
  const Tensor in = Tensor::scalar(kFloat32, 0.5), out = Tensor::scalar(kFloat32, 1),
               zero = Tensor::scalar_int(kInt32, 0);
  // 0.5, 1.5, -0.5, -1.5, and what saturates
  EXPECT_EQ(evaluate(kQnnRequantize, {q, in, zero, out, zero}).ints(),
            (std::vector<int64_t>{1, 2, 0, -1, 127, -128}));
  EXPECT_EQ(
      evaluate(kQnnRequantize, {q, in, zero, out, zero}, {{"rounding", std::string("TONEAREST")}}).ints(),
      (std::vector<int64_t>{1, 2, -1, -2, 127, -128}));
  EXPECT_EQ(evaluate(kQnnRequantize, {q, in, zero, out, zero}, {{"out_dtype", kInt32}}).ints(),
            (std::vector<int64_t>{1, 2, 0, -1, 500, -500}));
}

TEST(Quantize, Relations) {
  Context c;
  const Type x = c.tensor_type({c.shape_variable("n"), Dim(4)}, kFloat32), s = c.scalar_type(kFloat32);
  const Type zero = c.scalar_type(kInt32);
  EXPECT_EQ(infer_text(c, kQnnQuantize, {x, s, zero}), "Tensor[(n, 4), int8]");
  EXPECT_EQ(infer_text(c, kQnnQuantize, {x, c.tensor_type(Shape{4}, kFloat32), zero}),
            "Tensor[(n, 4), int8]");
  EXPECT_EQ(infer_text(c, kQnnQuantize, {x, c.tensor_type(Shape{5}, kFloat32), zero}),
            "extent of the quantized axis: 5 and 4 differ");
  EXPECT_EQ(infer_text(c, kQnnQuantize, {x, s, zero}, {{"out_dtype", kInt32}}),
            "out_dtype must be int8, uint8, int16 or uint16");
  EXPECT_EQ(infer_text(c, kQnnDequantize, {c.scalar_type(kUInt8), s, zero}), "float32");
  EXPECT_EQ(infer_text(c, kQnnRequantize, {zero, s, zero, s, zero}, {{"rounding", std::string("DOWN")}}),
            "rounding must be UPWARD or TONEAREST, not `DOWN`");
}

}  // namespace
}  // namespace relay::op::testing
