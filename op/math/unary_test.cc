#include <limits>

#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Row {
  const OpDef* op;
  double low, high;  // where the function is defined and smooth
};
const Row kFunctions[] = {
    {&kExp, -3, 3},      {&kLog, 0.1, 4},     {&kLog2, 0.1, 4},    {&kLog10, 0.1, 4},    {&kLog1p, -0.5, 2},
    {&kSqrt, 0.1, 4},    {&kRsqrt, 0.2, 4},   {&kSin, -4, 4},      {&kCos, -4, 4},       {&kTan, -1, 1},
    {&kAsin, -0.9, 0.9}, {&kAcos, -0.9, 0.9}, {&kAtan, -3, 3},     {&kSinh, -2, 2},      {&kCosh, -2, 2},
    {&kTanh, -2, 2},     {&kAsinh, -2, 2},    {&kAcosh, 1.2, 4},   {&kAtanh, -0.9, 0.9}, {&kSigmoid, -4, 4},
    {&kErf, -2, 2},      {&kNegative, -2, 2}, {&kAbs, 0.1, 2},     {&kAbs, -2, -0.1},    {&kSign, 0.1, 2},
    {&kFloor, 0.1, 0.9}, {&kCeil, 0.1, 0.9},  {&kRound, 0.1, 0.4}, {&kTrunc, 0.1, 0.9},  {&kCopy, -2, 2},
};

TEST(Unary, GradientsAreTheDerivatives) {
  for (const Row& row : kFunctions) check_gradient(*row.op, {random(kFloat64, {2, 3}, 5, row.low, row.high)});
}

TEST(Unary, LoweringsComputeWhatEvaluationDoes) {
  for (const Row& row : kFunctions) {
    for (const DType d : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
      SCOPED_TRACE(d.name());
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 3}, Shape{7}, Shape{2, 3, 4}}) {
        check_lowering(*row.op, {random(d, shape, 3, row.low, row.high)});
      }
    }
  }
}

TEST(Unary, IntegersToo) {
  for (const OpDef* op :
       {&kNegative, &kAbs, &kSign, &kFloor, &kCeil, &kRound, &kTrunc, &kBitwiseNot, &kCopy}) {
    for (const DType d : {kInt8, kUInt8, kInt32, kInt64, kUInt64}) {
      SCOPED_TRACE(d.name());
      check_lowering(*op, {random(d, {4, 5}, 9, -300, 300)});
    }
  }
  check_lowering(kLogicalNot, {random(kBool, {9}, 1)});
  check_lowering(kBitwiseNot, {random(kBool, {9}, 1)});
}

TEST(Unary, SpecialValues) {
  const Tensor x = tensor<double>(kFloat32, {8}, {kNan, kInf, -kInf, 0, -0.0, 1.5, -2.5, 3.5});
  for (const OpDef* op : {&kIsNan, &kIsInf, &kIsFinite, &kSign, &kAbs, &kNegative, &kFloor, &kCeil, &kTrunc,
                          &kRound, &kExp, &kTanh, &kSigmoid, &kErf, &kSqrt, &kRsqrt, &kLog, &kAtan}) {
    check_lowering(*op, {x});
  }
}

TEST(Unary, NarrowFloatsDoNotOverflowOnTheWay) {
  // exp(12) is beyond float16, 1 / (1 + exp(12)) is not.
  const Tensor y = evaluate(kSigmoid, {Tensor::scalar(kFloat16, -12)});
  EXPECT_NEAR(y.get(0), 6.1441746e-06, 6e-8);
  check_lowering(kSigmoid, {random(kFloat16, {16}, 2, -15, 15)});
}

// Down to where its results are subnormal: a formula whose parts overflow gives 0 there.
TEST(Unary, SigmoidHasItsBoundEverywhere) {
  constexpr int64_t kCount = 4400;
  for (const DType d : {kFloat32, kFloat64}) {
    Tensor x(d, {kCount});
    const double end = d == kFloat32 ? 110 : 760;
    for (int64_t i = 0; i < kCount; ++i) x.set(i, end * (2.0 * static_cast<double>(i) / kCount - 1));
    check_lowering(kSigmoid, {x});
  }
  EXPECT_EQ(kSigmoid.tolerance.ulps, 4);
  EXPECT_NEAR(evaluate(kSigmoid, {Tensor::scalar(kFloat32, -95)}).get(0) / 5.521082277e-42, 1, 2e-4);
  EXPECT_NEAR(evaluate(kSigmoid, {Tensor::scalar(kFloat64, -720)}).get(0) / 2.0322308024e-313, 1, 1e-6);
}

TEST(Unary, RelationsKeepSymbolicShapes) {
  Context c;
  const Type x = c.tensor_type({c.shape_variable("n"), Dim(3), Dim::unknown()}, kFloat32);
  EXPECT_EQ(infer_text(c, kExp, {x}), "Tensor[(n, 3, ?), float32]");
  EXPECT_EQ(infer_text(c, kIsNan, {x}), "Tensor[(n, 3, ?), bool]");
  EXPECT_EQ(infer_text(c, kLogicalNot, {x}), "expected a boolean tensor, found float32");
  EXPECT_EQ(infer_text(c, kBitwiseNot, {x}), "expected an integer or boolean tensor, found float32");
  EXPECT_EQ(infer_text(c, kExp, {c.scalar_type(kInt32)}), "expected a floating-point tensor, found int32");
  EXPECT_EQ(infer_text(c, kExp, {x, x}), "takes 1 arguments, not 2");
  EXPECT_EQ(infer_text(c, kExp, {x}, {{"axis", int64_t{1}}}),
            "attribute `axis` is unknown: the operator has no attributes");
}

TEST(Cast, BetweenAllDTypes) {
  for (const DType from : {kBool, kInt8, kUInt8, kInt32, kInt64, kFloat16, kFloat32, kFloat64}) {
    for (const DType to : {kBool, kInt8, kUInt8, kInt32, kInt64, kFloat16, kFloat32, kFloat64}) {
      SCOPED_TRACE(from.name() + " to " + to.name());
      check_lowering(kCast, {random(from, {3, 5}, 4, -120, 120)}, {{"dtype", to}});
    }
  }
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  const Tensor x = tensor<double>(kFloat32, {6}, {-1.9, 1.9, 300.7, -300.7, kNan, 127.5});
  EXPECT_EQ(evaluate(kCast, {x}, {{"dtype", kInt8}}).ints(),
            (std::vector<int64_t>{-1, 1, 127, -128, 0, 127}));
  EXPECT_EQ(evaluate(kCast, {x}, {{"dtype", kBool}}).ints(), (std::vector<int64_t>{1, 1, 1, 1, 1, 1}));
}

TEST(Cast, GradientGoesBackToTheDType) {
  check_gradient(kCast, {random(kFloat64, {4}, 1)}, {{"dtype", kFloat64}});
  Context context;
  Builder b(context);
  const Var* x = b.var("x", context.tensor_type(Shape{4}, kFloat32));
  const Attrs attrs = context.attrs({{"dtype", kFloat16}});
  const std::vector<Expr> args{x};
  const Expr y = call(b, kCast, args, {{"dtype", kFloat16}});
  const Var* dy = b.var("dy", y->type);
  EXPECT_EQ(kCast.differentiate(b, attrs, Site{args, y, dy})[0]->type, x->type);
}

TEST(Clip, Bounds) {
  check_gradient(kClip, {random(kFloat64, {8}, 3)}, {{"a_min", -1.0}, {"a_max", 0.5}});
  for (const DType d : {kFloat16, kFloat32, kInt8, kUInt8, kInt32, kUInt64}) {
    SCOPED_TRACE(d.name());
    for (const auto& [low, high] :
         std::vector<std::pair<double, double>>{{-1.5, 2.25}, {0, 6}, {-1e30, 1e30}, {3, 1}}) {
      check_lowering(kClip, {random(d, {3, 4}, 8, -20, 20)}, {{"a_min", low}, {"a_max", high}});
    }
  }
  Context c;
  EXPECT_EQ(infer_text(c, kClip, {c.scalar_type(kFloat32)}, {{"a_min", kNan}, {"a_max", 1.0}}),
            "a bound must not be NaN");  // C2
}

}  // namespace
}  // namespace relay::op::testing
