#include "passes/disturbance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "op/apply.h"
#include "op/bounds.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/testing.h"
#include "runtime/compare.h"

namespace relay::passes {
namespace {

// A call on one argument, undisturbed, and disturbed with each of a few seeds.
struct Drawn {
  Value made;
  std::vector<Value> others;
};

Drawn drawn(const op::OpDef& def, const std::vector<Value>& args) {
  Context context;
  const Attrs attrs = context.attrs({});
  Drawn out{op::evaluate(context, def, args, attrs), {}};
  for (uint32_t seed = 1; seed <= 20; ++seed)
    out.others.push_back(Disturbance(seed).of(context, def, args, attrs, out.made));
  return out;
}

// The largest distance from the undisturbed result.
double farthest(const Drawn& d) {
  double most = 0;
  for (const Value& v : d.others) {
    for (int64_t i = 0; i < v.tensor().size(); ++i)
      most = std::max(most, std::fabs(v.tensor().get(i) - d.made.tensor().get(i)));
  }
  return most;
}

Value row(DType dtype, std::vector<double> values) {
  return Value(op::testing::tensor(dtype, {static_cast<int64_t>(values.size())}, values));
}

TEST(Disturbance, ChangesNothingExact) {
  EXPECT_EQ(farthest(drawn(op::kNegative, {row(kFloat64, {1, 2, 3})})), 0);
}

TEST(Disturbance, GivesTheNeighboursOfAFunction) {
  const Drawn d = drawn(op::kExp, {row(kFloat64, {0})});
  EXPECT_EQ(farthest(d), 0x1p-52);
}

// A program may decide by such a number: indices are computed so, and an engine has no other one.
TEST(Disturbance, LeavesWhatNeedsNoRounding) {
  const Value x = row(kFloat32, {3, 0.25, 16}), y = row(kFloat32, {2, 0.5, -4});
  for (const op::OpDef* def : {&op::kAdd, &op::kSubtract, &op::kMultiply}) {
    EXPECT_EQ(farthest(drawn(*def, {x, y})), 0) << def->name;
  }
  EXPECT_EQ(farthest(drawn(op::kDivide, {x, row(kFloat32, {2})})), 0);
  EXPECT_EQ(farthest(drawn(op::kSqrt, {row(kFloat64, {4, 2.25, 0})})), 0);
}

TEST(Disturbance, GivesTheNeighboursOfWhatIsRounded) {
  const Value x = row(kFloat32, {1}), third = row(kFloat32, {1.0f / 3});
  for (const op::OpDef* def : {&op::kAdd, &op::kSubtract}) {
    EXPECT_GT(farthest(drawn(*def, {x, third})), 0) << def->name;
  }
  EXPECT_GT(farthest(drawn(op::kMultiply, {third, third})), 0);
  EXPECT_GT(farthest(drawn(op::kDivide, {x, row(kFloat32, {3})})), 0);
  EXPECT_GT(farthest(drawn(op::kSqrt, {row(kFloat64, {2})})), 0);
  EXPECT_GT(farthest(drawn(op::kAdd, {row(kFloat64, {1}), row(kFloat64, {0x1p-80})})), 0);
}

// A quarter of 2 (n + 2) u times 2^20 + 2^20 + 1, though the sum itself is 1.
TEST(Disturbance, IsThatOfTheTermsForASumOfFloat64) {
  const double terms = 0x1p21 + 1;
  EXPECT_NEAR(farthest(drawn(op::kSum, {row(kFloat64, {0x1p20, 1, -0x1p20})})), 0.5 * 5 * 0x1p-53 * terms,
              0x1p-52);
}

// One order of a single sum may be right by luck, whatever is lost in another.
TEST(Disturbance, IsOneRoundingOfTheTermsForAFewSumsOfFloat32) {
  const Value x = row(kFloat32, {0x1p20, 1, -0x1p20});
  EXPECT_NEAR(farthest(drawn(op::kSum, {x})), 0x1p-24 * (0x1p21 + 1), 0x1p-20);
}

// The largest error of many is measured by the run itself, which adds in float32.
TEST(Disturbance, IsANeighbourForManySumsOfFloat32) {
  const Value x(op::testing::tensor<double>(kFloat32, {1, 3}, {0x1p20, 1, -0x1p20}));
  const Value w(op::testing::tensor<double>(kFloat32, {8, 3}, std::vector<double>(24, 1)));
  EXPECT_EQ(farthest(drawn(op::kDense, {x, w})), 0x1p-23);
}

// Narrower sums are float32, and so their error is lost where the result is rounded.
TEST(Disturbance, IsANeighbourForSumsOfFloat16) {
  EXPECT_EQ(farthest(drawn(op::kSum, {row(kFloat16, {1024, 1, -1024})})), 0x1p-10);
}

TEST(Disturbance, ReachesSumsInTuples) {
  const Value one = row(kFloat64, {1}), x(op::testing::tensor<double>(kFloat64, {1, 1}, {0x1p20}));
  const Drawn d = drawn(op::kBatchNorm, {x, one, one, row(kFloat64, {0x1p20}), one});
  const double want = d.made.fields()[0].tensor().get(0);
  double most = 0;
  for (const Value& v : d.others) {
    ASSERT_EQ(v.fields().size(), 3u);
    most = std::max(most, std::fabs(v.fields()[0].tensor().get(0) - want));
  }
  EXPECT_GT(most, 0x1p-53 * 0x1p20);
  EXPECT_LT(most, 1e-8);
}

TEST(Disturbance, LeavesZerosAlone) {
  EXPECT_EQ(farthest(drawn(op::kSin, {row(kFloat32, {0})})), 0);
  EXPECT_EQ(farthest(drawn(op::kSum, {row(kFloat64, {0, 0})})), 0);
  EXPECT_GT(farthest(drawn(op::kSum, {row(kFloat64, {1, -1})})), 0) << "a sum that is 0 by cancellation";
  for (const Value& v : drawn(op::kSin, {row(kFloat32, {-0.0})}).others)
    EXPECT_TRUE(std::signbit(v.tensor().get(0))) << "the sign of a zero";
}

TEST(Disturbance, KnowsEachOperatorThatRoundsOnce) {
  for (const op::OpDef* def : op::all_ops()) {
    if (!op::is_rounded_once(*def)) continue;
    const std::vector<Value> args(def->params.size(), row(kFloat32, {1}));
    EXPECT_EQ(farthest(drawn(*def, args)), 0) << def->name;
  }
}

TEST(Disturbance, LeavesInfiniteSumsAlone) {
  const Drawn d = drawn(op::kSum, {row(kFloat64, {INFINITY, 1})});
  for (const Value& v : d.others) EXPECT_EQ(v.tensor().get(0), INFINITY);
}

}  // namespace
}  // namespace relay::passes
