#include <cmath>

#include "op/ops.h"
#include "op/testing.h"

namespace relay::op::testing {
namespace {

void expect_near(const Tensor& got, const std::vector<double>& want) {
  ASSERT_EQ(static_cast<size_t>(got.size()), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.get(static_cast<int64_t>(i)), want[i], 1e-9) << i;
}

const AttrArg kExact{"epsilon", 0.0};

TEST(LayerNorm, NormalisesAlongTheAxis) {
  const Tensor x = tensor<double>(kFloat64, {2, 2}, {1, 3, -4, 2});
  const Tensor gamma = tensor<double>(kFloat64, {2}, {2, 3}), beta = tensor<double>(kFloat64, {2}, {10, 20});
  expect_near(evaluate(kLayerNorm, {x, gamma, beta}, {kExact}), {8, 23, 8, 23});
  expect_near(evaluate(kLayerNorm, {x, gamma, beta}, {kExact, {"axis", int64_t{0}}}), {12, 12, 17, 17});
  expect_near(evaluate(kLayerNorm, {x, gamma, beta}, {kExact, {"scale", false}, {"center", false}}),
              {-1, 1, -1, 1});
  expect_near(evaluate(kLayerNorm, {x, gamma, beta}, {{"epsilon", 3.0}}),
              {9, 21.5, 10 - 6 / std::sqrt(12), 20 + 9 / std::sqrt(12)});
}

TEST(InstanceNorm, NormalisesEachChannelOfEachExample) {
  const Tensor x = tensor<double>(kFloat64, {1, 2, 2}, {1, 3, -4, 2});
  const Tensor gamma = tensor<double>(kFloat64, {2}, {2, 3}), beta = tensor<double>(kFloat64, {2}, {10, 20});
  expect_near(evaluate(kInstanceNorm, {x, gamma, beta}, {kExact}), {8, 12, 17, 23});
}

TEST(GroupNorm, NormalisesEachGroup) {
  const Tensor x = tensor<double>(kFloat64, {1, 4, 1}, {1, 3, -4, 2});
  const Tensor gamma = tensor<double>(kFloat64, {4}, {1, 2, 3, 4}),
               beta = tensor<double>(kFloat64, {4}, {0, 0, 0, 1});
  expect_near(evaluate(kGroupNorm, {x, gamma, beta}, {kExact, {"num_groups", int64_t{2}}}), {-1, 2, -3, 5});
}

TEST(Lrn, DividesByTheNeighbours) {
  const Tensor x = tensor<double>(kFloat64, {1, 3, 1, 1}, {1, 2, 3});
  // 3 * mean of the squares of up to three neighbours: 5, 14, 13.
  const std::vector<AttrArg> attrs{{"size", int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}};
  expect_near(evaluate(kLrn, {x}, attrs), {1 / 6.0, 2 / 15.0, 3 / 14.0});
  std::vector<AttrArg> last = attrs;
  last.push_back({"axis", int64_t{-1}});
  expect_near(evaluate(kLrn, {x}, last), {1 / 2.0, 2 / 5.0, 3 / 10.0});
}

// What the tolerance allows for the result of x = 0.5, a single channel, as a
// multiple of that result.
double allowed_by_lrn(double alpha, double beta) {
  Context context;
  Builder b(context);
  const Tensor x = tensor<double>(kFloat64, {1, 1}, {0.5});
  const std::vector<AttrArg> attrs{{"size", int64_t{1}}, {"alpha", alpha}, {"beta", beta}, {"bias", 1.0}};
  const Attrs interned = call(b, kLrn, {b.constant(x)}, attrs)->as<Call>()->attrs;
  const Tensor y = evaluate(kLrn, {x}, attrs);
  const std::vector<Value> args{Value(x)};
  return bounds(context, kLrn, args, interned, {&y, 1}).at(0)(0) / std::fabs(y.get(0));
}

TEST(Lrn, ABaseThatCancelsMayBeOffByMore) {
  const double plain = allowed_by_lrn(3, 1);  // 1 + 0.75: nothing is lost, however large the exponent
  EXPECT_NEAR(allowed_by_lrn(3, 2) / plain, 1, 1e-9);
  EXPECT_NEAR(allowed_by_lrn(-3, 1) / plain, 7, 1e-9);  // 1 - 0.75, of parts that are 7 times as large
  EXPECT_NEAR(allowed_by_lrn(-3, 2) / plain, 13, 1e-9);
}

}  // namespace
}  // namespace relay::op::testing
