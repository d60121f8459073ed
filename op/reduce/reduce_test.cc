#include <limits>

#include "base/failure.h"
#include "kernel/execute.h"
#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Axes = std::vector<int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::vector<AttrArg>> kAttributes[] = {{
    {},
    {{"axis", Axes{1}}},
    {{"axis", Axes{-1}}, {"keepdims", true}},
    {{"axis", Axes{0, 2}}},
    {{"axis", Axes{0}}, {"exclude", true}, {"keepdims", true}},
    {{"axis", Axes{}}},
}};

TEST(Reduce, GradientsAreTheDerivatives) {
  for (const std::vector<AttrArg>& attrs : kAttributes[0]) {
    const Tensor x = random(kFloat64, {2, 3, 2}, 1, 0.5, 2);
    for (const OpDef* op : {&kSum, &kMean, &kMax, &kMin, &kProd}) check_gradient(*op, {x}, attrs);
  }
}

TEST(Reduce, GradientOfAProductWithZeros) {
  check_gradient(kProd, {tensor<double>(kFloat64, {3, 3}, {1, 2, 3, 0, 2, 3, 0, 0, 3})}, {{"axis", Axes{1}}});
}

TEST(Reduce, EqualElementsShareTheAdjointOfAnExtremum) {
  Context context;
  Builder b(context);
  const Attrs attrs = context.attrs({{"axis", Axes{0}}});
  const Tensor x = tensor<double>(kFloat64, {4}, {3, 1, 3, 2});
  const Var* var = b.var("x", type_of(context, x));
  const std::vector<Expr> args{var};
  const Expr y = call(b, kMax, args, {{"axis", Axes{0}}});
  const std::vector<Expr> adjoints = kMax.differentiate(b, attrs, Site{args, y, b.scalar(kFloat64, 1)});
  EXPECT_EQ(value_of(context, adjoints[0], {{var, Value(x)}}).tensor().doubles(),
            (std::vector<double>{0.5, 0, 0.5, 0}));
}

TEST(Reduce, LoweringsComputeWhatEvaluationDoes) {
  for (const std::vector<AttrArg>& attrs : kAttributes[0]) {
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 5, 1}, Shape{3, 0, 2}, Shape{0, 2, 2}}) {
      for (const DType d :
           {kFloat16, kBFloat16, kFloat32, kFloat64, kInt8, kUInt8, kInt32, kInt64, kUInt64}) {
        SCOPED_TRACE(d.name() + relay::show(shape));
        for (const OpDef* op : {&kSum, &kMax, &kMin, &kProd})
          check_lowering(*op, {random(d, shape, 2, -3, 3)}, attrs);
        if (d.is_float()) check_lowering(kMean, {random(d, shape, 2, -3, 3)}, attrs);
      }
      for (const OpDef* op : {&kAll, &kAny}) check_lowering(*op, {random(kBool, shape, 3)}, attrs);
    }
  }
  for (const OpDef* op : {&kSum, &kMax, &kMin, &kProd, &kMean})
    check_lowering(*op, {random(kFloat32, {}, 2)});
}

TEST(Reduce, SpecialValues) {
  const Tensor x = tensor<double>(kFloat32, {3, 3}, {kNan, 1, kInf, -kInf, kInf, 2, 0, -0.0, -kInf});
  for (const OpDef* op : {&kSum, &kMax, &kMin, &kProd, &kMean}) check_lowering(*op, {x}, {{"axis", Axes{1}}});
  for (const OpDef* op : {&kArgmax, &kArgmin}) check_lowering(*op, {x}, {{"axis", Axes{1}}});
}

TEST(Reduce, AMeanOfManyNarrowFloatsDoesNotOverflow) {
  // The sum is 131072 and the count 65536: both beyond float16.
  Tensor x(kFloat16, {65536});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, 2);
  EXPECT_EQ(evaluate(kMean, {x}).get(0), 2);
  check_lowering(kMean, {x});
}

TEST(Reduce, RelationsKeepSymbolicShapes) {
  Context c;
  const Type x = c.tensor_type({c.shape_variable("n"), Dim(3), Dim::unknown()}, kFloat32);
  EXPECT_EQ(infer_text(c, kSum, {x}, {{"axis", Axes{1}}}), "Tensor[(n, ?), float32]");
  EXPECT_EQ(infer_text(c, kSum, {x}, {{"axis", Axes{0, -1}}, {"keepdims", true}}),
            "Tensor[(1, 3, 1), float32]");
  EXPECT_EQ(infer_text(c, kSum, {x}, {{"axis", Axes{0}}, {"exclude", true}}), "Tensor[(n), float32]");
  EXPECT_EQ(infer_text(c, kSum, {x}), "float32");
  EXPECT_EQ(infer_text(c, kArgmax, {x}, {{"axis", Axes{2}}}), "Tensor[(n, 3), int32]");
  EXPECT_EQ(infer_text(c, kSum, {x}, {{"axis", Axes{3}}}), "axis 3 is out of range for rank 3");
  EXPECT_EQ(infer_text(c, kSum, {x}, {{"axis", Axes{0, -3}}}), "axis -3 is named twice");
  EXPECT_EQ(infer_text(c, kAll, {x}), "expected a boolean tensor, found float32");
  EXPECT_EQ(infer_text(c, kArgmin, {c.tensor_type(Shape{2, 0}, kFloat32)}, {{"axis", Axes{1}}}),
            "there is no element along the reduced axes");
}

TEST(Argmax, Positions) {
  const Tensor x = tensor<double>(kFloat32, {2, 4}, {1, 7, 7, 3, -1, kNan, 5, kNan});
  EXPECT_EQ(evaluate(kArgmax, {x}, {{"axis", Axes{1}}}).ints(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(evaluate(kArgmax, {x}, {{"axis", Axes{1}}, {"select_last_index", true}}).ints(),
            (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(evaluate(kArgmin, {x}, {{"axis", Axes{1}}}).ints(), (std::vector<int64_t>{0, 1}));
  for (const OpDef* op : {&kArgmax, &kArgmin}) {
    for (const bool last : {false, true}) {
      for (const DType d : {kFloat16, kFloat32, kInt8, kUInt8, kInt64, kUInt64}) {
        const Tensor y = random(d, {3, 4, 2}, 6, -2, 2);  // with many ties
        check_lowering(*op, {y}, {{"axis", Axes{1}}, {"select_last_index", last}});
        check_lowering(*op, {y}, {{"axis", Axes{0, 2}}, {"keepdims", true}, {"select_last_index", last}});
        check_lowering(*op, {y}, {{"select_last_index", last}});
      }
      check_lowering(*op, {x}, {{"axis", Axes{1}}, {"select_last_index", last}});
    }
  }
}

TEST(Argmax, NothingAlongASymbolicAxisTraps) {
  Context c;
  const Attrs attrs = c.attrs({{"axis", Axes{1}}});
  const kernel::Kernel k =
      lower(c, kArgmax, {c.tensor_type({Dim(2), c.shape_variable("n")}, kFloat32)}, attrs);
  EXPECT_THROW(kernel::execute(k, std::vector<Tensor>{Tensor(kFloat32, {2, 0})}), Trap);
  EXPECT_THROW(evaluate(kArgmax, {Tensor(kFloat32, {2, 0})}, {{"axis", Axes{1}}}), Trap);
}

TEST(Variance, IsTheMeanSquareDistance) {
  const Tensor x = tensor<double>(kFloat32, {2, 2}, {1, 3, 2, 8}),
               m = tensor<double>(kFloat32, {2, 1}, {2, 5});
  EXPECT_EQ(evaluate(kVariance, {x, m}, {{"axis", Axes{1}}}).doubles(), (std::vector<double>{1, 9}));
  EXPECT_EQ(evaluate(kVariance, {x, m}, {{"axis", Axes{1}}, {"unbiased", true}}).doubles(),
            (std::vector<double>{2, 18}));
}

// The count is only known when the program runs.
TEST(Reduce, SymbolicShapesDifferentiateAndExpand) {
  Context c;
  Builder b(c);
  const Var* x = b.var("x", c.tensor_type({c.shape_variable("n"), Dim(3)}, kFloat64));
  const std::vector<Expr> args{x};
  const Expr y = call(b, kMean, args, {{"axis", Axes{0}}});
  const Var* dy = b.var("dy", y->type);
  const Attrs attrs = c.attrs({{"axis", Axes{0}}});
  const Expr dx = kMean.differentiate(b, attrs, Site{args, y, dy})[0];
  EXPECT_EQ(dx->type, x->type);
  const Tensor at = random(kFloat64, {4, 3}, 1), adjoint = tensor<double>(kFloat64, {3}, {4, 8, -4});
  const Tensor got = value_of(c, dx, {{x, Value(at)}, {dy, Value(adjoint)}}).tensor();
  EXPECT_EQ(got.doubles(), (std::vector<double>{1, 2, -1, 1, 2, -1, 1, 2, -1, 1, 2, -1}));

  const Var* mean = b.var("mean", c.tensor_type(Shape{1, 3}, kFloat64));
  const std::vector<Expr> pair{x, mean};
  const Expr v = expand(b, kVariance, pair, c.attrs({{"axis", Axes{0}}, {"unbiased", true}}));
  const Tensor data = tensor<double>(kFloat64, {2, 3}, {1, 2, 3, 3, 2, 7}),
               m = tensor<double>(kFloat64, {1, 3}, {2, 2, 5});
  EXPECT_EQ(value_of(c, v, {{x, Value(data)}, {mean, Value(m)}}).tensor().doubles(),
            (std::vector<double>{2, 0, 8}));
}

TEST(Like, CollapseAndBroadcast) {
  for (const auto& [large, small] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {3}}, {{2, 3}, {2, 1}}, {{2, 3}, {}}, {{4, 2, 3}, {1, 3}}, {{2, 3}, {2, 3}}}) {
    const Tensor x = random(kFloat64, large, 1), y = random(kFloat64, small, 2);
    check_gradient(kCollapseSumLike, {x, y});
    check_gradient(kBroadcastToLike, {y, x});
    for (const DType d : {kFloat16, kFloat32, kInt8, kInt64}) {
      check_lowering(kCollapseSumLike, {random(d, large, 1, -5, 5), random(kFloat32, small, 2)});
      check_lowering(kBroadcastToLike, {random(d, small, 1, -5, 5), random(kFloat32, large, 2)});
    }
  }
  check_lowering(kCollapseSumLike, {Tensor(kFloat32, {0, 3}), Tensor(kFloat32, {3})});
}

// Whether a dimension is summed is only known when the kernel runs.
TEST(Like, CollapseOfSymbolicExtents) {
  Context c;
  const std::vector<Type> types{c.tensor_type({c.shape_variable("n"), Dim(2)}, kFloat32),
                                c.tensor_type({c.shape_variable("m"), Dim(2)}, kFloat32)};
  const kernel::Kernel k = lower(c, kCollapseSumLike, types, {});
  for (const int64_t m : {1, 3}) {
    const Tensor x = random(kFloat32, {3, 2}, 1, 0, 2), like(kFloat32, {m, 2});
    EXPECT_TRUE(compare_ulps(kernel::execute(k, std::vector<Tensor>{x, like})[0],
                             evaluate(kCollapseSumLike, {x, like}), 4)
                    .ok);
  }
}

TEST(Scan, SumsAndProducts) {
  for (const std::vector<AttrArg>& attrs :
       std::vector<std::vector<AttrArg>>{{{"axis", int64_t{0}}},
                                         {{"axis", int64_t{-1}}, {"exclusive", true}},
                                         {{"axis", int64_t{1}}},
                                         {}}) {
    check_gradient(kCumsum, {random(kFloat64, {2, 3}, 1)}, attrs);
    for (const DType d : {kFloat16, kFloat32, kFloat64, kInt8, kUInt8, kInt64}) {
      SCOPED_TRACE(d.name());
      for (const Shape& shape : {Shape{2, 3}, Shape{1, 5}, Shape{0, 4}}) {
        check_lowering(kCumsum, {random(d, shape, 4, -9, 9)}, attrs);
        check_lowering(kCumprod, {random(d, shape, 4, -3, 3)}, attrs);
      }
    }
  }
  check_lowering(kCumsum, {random(kInt8, {20}, 1, 100, 120)}, {{"axis", int64_t{0}}, {"dtype", kInt32}});
  check_lowering(kCumsum, {random(kBFloat16, {50}, 1)}, {{"axis", int64_t{0}}, {"dtype", kFloat32}});
}

}  // namespace
}  // namespace relay::op::testing
