#include "ir/traverse.h"
#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

Tensor integers(DType d, Shape shape, const std::vector<int64_t>& values) {
  return tensor<int64_t>(d, std::move(shape), values);
}
Tensor one() { return Tensor::scalar(kFloat32, 1); }

// The calls that an expression is made of, from its arguments on.
std::vector<std::string> calls_of(Expr root) {
  std::vector<std::string> out;
  for (Expr e : post_order(root)) {
    if (const OpDef* def = callee(e)) out.push_back(def->name);
  }
  return out;
}

TEST(QnnConv2d, ByHand) {
  // Around the image are zero points, which stand for 0.
  const Tensor x = integers(kUInt8, {1, 1, 2, 2}, {1, 2, 3, 4}),
               w = integers(kInt8, {1, 1, 2, 2}, {1, 2, 3, 5});
  const Tensor zero_x = Tensor::scalar_int(kInt32, 1), zero_w = Tensor::scalar_int(kInt32, 1);
  // With x = 0 1 2 3 and w = 0 1 2 4, padded at the top and the left.
  EXPECT_EQ(evaluate(kQnnConv2d, {x, w, zero_x, zero_w, one(), one()},
                     {{"padding", std::vector<int64_t>{1, 1, 0, 0}}})
                .ints(),
            (std::vector<int64_t>{0, 4, 8, 17}));
}

// Both are sums over the same products: in 64 bits, with every index written out.
TEST(QnnConv2d, IsTheSumOfDifferences) {
  const Tensor x = random(kUInt8, {2, 4, 5, 6}, 1, 0, 255), w = random(kInt8, {6, 2, 3, 2}, 2, -128, 127);
  const Tensor zero_w = integers(kInt32, {6}, {0, 1, -2, 3, -128, 127}),
               zero_x = Tensor::scalar_int(kInt32, 131);
  const Tensor scale_w = random(kFloat32, {6}, 3, 0.1, 1);
  const Tensor y = evaluate(kQnnConv2d, {x, w, zero_x, zero_w, one(), scale_w},
                            {{"padding", std::vector<int64_t>{1, 0}},
                             {"strides", std::vector<int64_t>{2, 1}},
                             {"groups", int64_t{2}}});
  ASSERT_EQ(y.shape(), (Shape{2, 6, 3, 5}));
  int64_t at = 0;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t o = 0; o < 6; ++o) {
      for (int64_t top = 0; top < 3; ++top) {
        for (int64_t left = 0; left < 5; ++left) {
          int64_t sum = 0;
          for (int64_t i = 0; i < 2; ++i) {
            for (int64_t u = 0; u < 3; ++u) {
              for (int64_t v = 0; v < 2; ++v) {
                const int64_t row = 2 * top + u - 1, column = left + v;
                if (row < 0 || row >= 5) continue;
                const int64_t q = x.get_int(((n * 4 + o / 3 * 2 + i) * 5 + row) * 6 + column);
                sum += (q - 131) * (w.get_int(((o * 2 + i) * 3 + u) * 2 + v) - zero_w.get_int(o));
              }
            }
          }
          ASSERT_EQ(y.get_int(at++), sum) << "image " << n << ", channel " << o;
        }
      }
    }
  }
}

TEST(QnnConv2dTranspose, IsTheTransposeOfDifferences) {
  const Tensor x = random(kUInt8, {1, 3, 2, 3}, 1, 0, 255), w = random(kInt8, {3, 2, 2, 2}, 2, -128, 127);
  const Tensor zero_w = integers(kInt32, {2}, {5, -7}), zero_x = Tensor::scalar_int(kInt32, 128);
  const Tensor y = evaluate(kQnnConv2dTranspose, {x, w, zero_x, zero_w, one(), one()},
                            {{"strides", std::vector<int64_t>{2, 2}}});
  ASSERT_EQ(y.shape(), (Shape{1, 2, 4, 6}));
  std::vector<int64_t> want(48);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t top = 0; top < 2; ++top) {
      for (int64_t left = 0; left < 3; ++left) {
        for (int64_t o = 0; o < 2; ++o) {
          for (int64_t u = 0; u < 2; ++u) {
            for (int64_t v = 0; v < 2; ++v) {
              const int64_t q = x.get_int((i * 2 + top) * 3 + left) - 128;
              want[static_cast<size_t>((o * 4 + 2 * top + u) * 6 + 2 * left + v)] +=
                  q * (w.get_int(((i * 2 + o) * 2 + u) * 2 + v) - zero_w.get_int(o));
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(y.ints(), want);
}

TEST(QnnDense, WrapsInTheDtypeOfTheSums) {
  const Tensor x = integers(kInt8, {1, 3}, {127, 127, 127}), zero = Tensor::scalar_int(kInt32, 0);
  EXPECT_EQ(evaluate(kQnnDense, {x, x, zero, zero, one(), one()}).ints(), (std::vector<int64_t>{48387}));
  EXPECT_EQ(evaluate(kQnnDense, {x, x, zero, zero, one(), one()}, {{"out_dtype", kInt16}}).ints(),
            (std::vector<int64_t>{48387 - 65536}));
}

// Narrow integers reach the product as they are if their zero point is the constant 0: an engine
// for small integers has a use for it.
TEST(QnnDense, StaysNarrowWithoutZeroPoint) {
  Context c;
  Builder b(c);
  const Expr x = b.var("x", c.tensor_type(Shape{2, 3}, kInt8)),
             w = b.var("w", c.tensor_type(Shape{4, 3}, kInt8));
  const auto expanded = [&](double zero_x, double zero_w) {
    const std::vector<Expr> args{x,
                                 w,
                                 b.scalar(kInt32, zero_x),
                                 b.scalar(kInt32, zero_w),
                                 b.scalar(kFloat32, 1),
                                 b.scalar(kFloat32, 1)};
    return calls_of(expand(b, kQnnDense, args, {}));
  };
  EXPECT_EQ(expanded(0, 0), (std::vector<std::string>{"nn.dense"}));
  EXPECT_EQ(expanded(1, 0), (std::vector<std::string>{"cast", "subtract", "nn.dense"}));
  EXPECT_EQ(expanded(0, 1), (std::vector<std::string>{"cast", "subtract", "nn.dense"}));
}

TEST(QnnProducts, Relations) {
  Context c;
  const Type x = c.tensor_type({c.shape_variable("n"), Dim(3)}, kUInt8),
             w = c.tensor_type(Shape{4, 3}, kInt8);
  const Type zero = c.scalar_type(kInt32), scale = c.scalar_type(kFloat32);
  EXPECT_EQ(infer_text(c, kQnnDense, {x, w, zero, zero, scale, scale}), "Tensor[(n, 4), int32]");
  EXPECT_EQ(infer_text(c, kQnnDense, {x, w, zero, zero, scale, scale}, {{"out_dtype", kInt16}}),
            "Tensor[(n, 4), int16]");
  EXPECT_EQ(infer_text(c, kQnnDense, {x, w, zero, c.tensor_type(Shape{3}, kInt32), scale, scale}),
            "the number of output channels of weight: 3 and 4 differ");
  EXPECT_EQ(infer_text(c, kQnnDense, {x, w, zero, zero, scale, scale}, {{"out_dtype", kInt64}}),
            "out_dtype must be int16 or int32");
  const Type image = c.tensor_type(Shape{1, 4, 6, 6}, kInt8),
             windows = c.tensor_type(Shape{4, 2, 3, 3}, kInt8);
  const Type scales = c.tensor_type(Shape{4}, kFloat32);
  EXPECT_EQ(infer_text(c, kQnnConv2d, {image, windows, zero, zero, scale, scales}, {{"groups", int64_t{2}}}),
            "Tensor[(1, 4, 4, 4), int32]");
  EXPECT_EQ(infer_text(c, kQnnConv2dTranspose, {image, windows, zero, zero, scale, scales},
                       {{"groups", int64_t{2}}}),
            "expected a scalar, as there are groups");
}

}  // namespace
}  // namespace relay::op::testing
