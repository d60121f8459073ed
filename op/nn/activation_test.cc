#include <cmath>

#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

using Ints = std::vector<int64_t>;

const Tensor kSpecial = tensor<double>(kFloat32, {2, 3}, {NAN, INFINITY, -INFINITY, 0, -0.0, -1.5});

TEST(Relu, GradientsAndLowerings) {
  check_gradient(kRelu, {random(kFloat64, {3, 4}, 1)});
  for (const DType d : {kFloat32, kFloat16, kBFloat16, kFloat64, kInt8, kUInt8, kInt64, kUInt64}) {
    SCOPED_TRACE(d.name());
    for (const Shape& s : {Shape{}, Shape{3, 4}, Shape{0, 2}})
      check_lowering(kRelu, {random(d, s, 1, -100, 100)});
  }
  check_lowering(kRelu, {kSpecial});
}

TEST(Relu, SlopesForNegativeNumbers) {
  const Tensor x = tensor<double>(kFloat32, {2, 2}, {1, -2, -4, 0});
  EXPECT_EQ(evaluate(kLeakyRelu, {x}, {{"alpha", 0.5}}).doubles(), (std::vector<double>{1, -1, -2, 0}));
  const Tensor alpha = tensor<double>(kFloat32, {2}, {0.5, 0.25});
  EXPECT_EQ(evaluate(kPRelu, {x, alpha}).doubles(), (std::vector<double>{1, -0.5, -2, 0}));
  EXPECT_EQ(evaluate(kPRelu, {x, alpha}, {{"axis", int64_t{0}}}).doubles(),
            (std::vector<double>{1, -1, -1, 0}));
}

TEST(Softmax, GradientsAreTheDerivatives) {
  for (const int64_t axis : {0, 1, -1}) {
    for (const OpDef* op : {&kSoftmax, &kLogSoftmax}) {
      check_gradient(*op, {random(kFloat64, {2, 3, 2}, 1)}, {{"axis", axis}});
      check_gradient(*op, {random(kFloat64, {2, 1, 3}, 1)}, {{"axis", axis}});
    }
  }
}

TEST(Softmax, LoweringsComputeWhatEvaluationDoes) {
  for (const OpDef* op : {&kSoftmax, &kLogSoftmax}) {
    for (const DType d : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      SCOPED_TRACE(d.name());
      for (const int64_t axis : {0, 1, -1}) {
        for (const double size : {1.0, 40.0})
          check_lowering(*op, {random(d, {3, 4, 5}, 1, -size, size)}, {{"axis", axis}});
        check_lowering(*op, {random(d, {1, 1}, 1)}, {{"axis", axis}});
        check_lowering(*op, {random(d, {0, 3}, 1)}, {{"axis", axis}});
      }
    }
    check_lowering(*op, {kSpecial});
    check_lowering(*op, {tensor<double>(kFloat32, {2, 2}, {-INFINITY, 3, -INFINITY, -INFINITY})});
  }
}

TEST(Softmax, TheLogarithmKeepsItsDigits) {
  const Tensor y = evaluate(kLogSoftmax, {tensor<double>(kFloat64, {2}, {40, 0})});
  EXPECT_DOUBLE_EQ(y.get(0), -std::exp(-40));
  EXPECT_DOUBLE_EQ(y.get(1), -40);
}

TEST(BatchNorm, NormalisesByGivenStatistics) {
  Context context;
  const Tensor x = tensor<double>(kFloat64, {1, 2, 2}, {1, 2, 3, 4});
  const auto vector = [](double a, double b) { return tensor<double>(kFloat64, {2}, {a, b}); };
  const std::vector<Value> args{x, vector(2, 3), vector(10, 20), vector(1, 2), vector(4, 16)};
  const auto result = [&](const std::vector<AttrArg>& attrs) {
    return evaluate(context, kBatchNorm, args, context.attrs(attrs)).fields();
  };
  const AttrArg epsilon{"epsilon", 0.0};
  EXPECT_EQ(result({epsilon})[0].tensor().doubles(), (std::vector<double>{10, 11, 20.75, 21.5}));
  EXPECT_EQ(result({epsilon})[1].tensor().doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(result({epsilon})[2].tensor().doubles(), (std::vector<double>{4, 16}));
  EXPECT_EQ(result({epsilon, {"axis", int64_t{-1}}})[0].tensor().doubles(),
            (std::vector<double>{10, 20, 12, 21.5}));
  EXPECT_EQ(result({epsilon, {"center", false}})[0].tensor().doubles(),
            (std::vector<double>{0, 1, 0.75, 1.5}));
  EXPECT_EQ(result({epsilon, {"scale", false}})[0].tensor().doubles(),
            (std::vector<double>{10, 10.5, 20.25, 20.5}));
}

TEST(BatchNorm, TheStatisticsFollowFromTheData) {
  Context context;
  const std::vector<Type> args{context.tensor_type(Shape{1, 3, 5}, kFloat32), nullptr, nullptr, nullptr,
                               nullptr};
  Relation r(context, args);
  EXPECT_EQ(show(kBatchNorm.relate(r, {})),
            "(Tensor[(1, 3, 5), float32], Tensor[(3), float32], Tensor[(3), float32])");
  EXPECT_EQ(r.assigned().size(), 4u);
}

TEST(Dropout, DoesNothing) {
  Context context;
  const Tensor x = random(kFloat32, {2, 3}, 1);
  const std::vector<Value> y = evaluate(context, kDropout, std::vector<Value>{x}, {}).fields();
  EXPECT_TRUE(identical(y[0].tensor(), x));
  EXPECT_EQ(y[1].tensor().doubles(), std::vector<double>(6, 1));
}

TEST(BiasAdd, AddsAlongTheAxis) {
  const Tensor x(kInt32, {2, 2, 1}), bias = tensor<int>(kInt32, {2}, {1, 2});
  EXPECT_EQ(evaluate(kBiasAdd, {x, bias}).ints(), (Ints{1, 2, 1, 2}));
  EXPECT_EQ(evaluate(kBiasAdd, {x, bias}, {{"axis", int64_t{-3}}}).ints(), (Ints{1, 1, 2, 2}));
}

}  // namespace
}  // namespace relay::op::testing
