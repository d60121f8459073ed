#include "runtime/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace relay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor vector(DType dtype, const std::vector<double>& values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}

TEST(Compare, ADistanceDoesNotSeeTheSignOfAZero) {
  const Tensor got = vector(kFloat32, {1, -0.0}), want = vector(kFloat32, {1, 0.0});
  EXPECT_TRUE(compare(got, want, [](int64_t) { return 0.0; }).ok);
  const Comparison c = compare(got, want, Bound::exact());
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.worst, 1);
  EXPECT_EQ(c.needed, kInfinity);
  EXPECT_NE(show(c, got.shape()).find("the signs of two zeros differ"), std::string::npos);
  EXPECT_FALSE(compare_exact(got, want).ok);
}

TEST(Compare, ExactlyAnyNanEqualsAnyNan) {
  const Tensor nan = vector(kFloat32, {NAN, kInfinity}), other = vector(kFloat32, {-NAN, kInfinity});
  EXPECT_TRUE(compare_exact(nan, other).ok);
  EXPECT_FALSE(compare_exact(vector(kFloat32, {NAN, -kInfinity}), nan).ok);
  EXPECT_FALSE(compare_exact(vector(kFloat32, {0, kInfinity}), nan).ok);
}

TEST(Compare, ExactlyIntegersBeyondFloat64) {
  Tensor a(kInt64, {1}), b(kInt64, {1});
  a.set_int(0, (int64_t{1} << 60) + 1);
  b.set_int(0, int64_t{1} << 60);
  EXPECT_FALSE(compare_exact(a, b).ok);
  EXPECT_TRUE(compare_exact(a, a).ok);
}

TEST(Compare, ALargerDifferenceIsToldBeforeTheSignOfAZero) {
  const Comparison c = compare_exact(vector(kFloat32, {-0.0, 2}), vector(kFloat32, {0, 1}));
  EXPECT_EQ(c.worst, 1);
  EXPECT_EQ(c.reason, "");
}

TEST(Compare, WhereMoreIsAllowedTheSignOfAZeroIsNotAsked) {
  const Bound bound = Bound::exact().plus([](int64_t i) { return i == 0 ? 0.5 : 0; });
  EXPECT_TRUE(bound.is_exact());
  const Tensor want = vector(kFloat32, {0, 0});
  EXPECT_TRUE(compare(vector(kFloat32, {-0.0, 0}), want, bound).ok);
  EXPECT_FALSE(compare(vector(kFloat32, {0, -0.0}), want, bound).ok);
}

// maximum(-denormal, 0) is 0, and -0 where the denormal counts as -0.
TEST(Compare, TheZeroOfAnotherResultIsAsGood) {
  Bound bound = Bound::exact();
  bound.allow(vector(kFloat32, {-0.0, 0}));
  const Tensor want = vector(kFloat32, {0, 0});
  EXPECT_TRUE(compare(vector(kFloat32, {-0.0, 0}), want, bound).ok);
  EXPECT_FALSE(compare(vector(kFloat32, {0, -0.0}), want, bound).ok);
}

}  // namespace
}  // namespace relay
