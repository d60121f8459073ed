#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

Tensor integers(DType d, Shape shape, const std::vector<int64_t>& values) {
  return tensor<int64_t>(d, std::move(shape), values);
}
Tensor scale(double v) { return Tensor::scalar(kFloat32, v); }
Tensor zero(int64_t v) { return Tensor::scalar_int(kInt32, v); }

TEST(QnnAdd, RoundsEachOperand) {
  const Tensor x = integers(kInt8, {3}, {1, -1, 3}), y = integers(kInt8, {3}, {1, 1, 5});
  // 0.5 + 0.5, -0.5 + 0.5, 1.5 + 2.5: halves go up, each by itself.
  EXPECT_EQ(evaluate(kQnnAdd, {x, y, scale(1), zero(0), scale(1), zero(0), scale(2), zero(0)}).ints(),
            (std::vector<int64_t>{2, 1, 5}));
}

// With scales that are powers of two every quotient is exact, so that integers say what comes out.
TEST(QnnAdd, IsTheSumOfRoundedOperands) {
  const Tensor x = random(kUInt8, {4, 50}, 1, 0, 255), y = random(kUInt8, {50}, 2, 0, 255);
  const Tensor got =
      evaluate(kQnnAdd, {x, y, scale(0.25), zero(100), scale(0.5), zero(3), scale(2), zero(60)});
  const auto half_up = [](int64_t v, int64_t by) {
    return (v + by / 2 - ((v + by / 2) % by + by) % by) / by;
  };
  for (int64_t i = 0; i < got.size(); ++i) {
    const int64_t sum = half_up(x.get_int(i) - 100, 8) + half_up(y.get_int(i % 50) - 3, 4) + 60;
    ASSERT_EQ(got.get_int(i), std::clamp<int64_t>(sum, 0, 255)) << i;
  }
}

TEST(QnnAdd, ByChannel) {
  const Tensor x = integers(kInt8, {2, 2}, {1, 2, 3, 4}), none = integers(kInt8, {2, 2}, {0, 0, 0, 0});
  const Tensor scales = tensor<double>(kFloat32, {2}, {1, 10}), zeros = integers(kInt32, {2}, {0, 1});
  const std::vector<Value> args{x, none, scales, zeros, scale(1), zero(0), scale(1), zero(0)};
  EXPECT_EQ(evaluate(kQnnAdd, args, {{"lhs_axis", int64_t{0}}}).ints(), (std::vector<int64_t>{1, 2, 20, 30}));
  EXPECT_EQ(evaluate(kQnnAdd, args).ints(), (std::vector<int64_t>{1, 10, 3, 30}));
}

TEST(QnnAdd, Relations) {
  Context c;
  const Type x = c.tensor_type({c.shape_variable("n"), Dim(4)}, kInt8), y = c.tensor_type(Shape{4}, kInt8);
  const Type s = c.scalar_type(kFloat32), z = c.scalar_type(kInt32);
  EXPECT_EQ(infer_text(c, kQnnAdd, {x, y, s, z, s, z, s, z}), "Tensor[(n, 4), int8]");
  EXPECT_EQ(infer_text(c, kQnnAdd, {x, y, s, z, c.tensor_type(Shape{5}, kFloat32), z, s, z}),
            "extent of the quantized axis: 5 and 4 differ");
  EXPECT_EQ(infer_text(c, kQnnAdd, {z, z, s, z, s, z, s, z}), "expected int8, uint8, int16 or uint16");
}

}  // namespace
}  // namespace relay::op::testing
