#include "passes/power_scales.h"

#include <gtest/gtest.h>

#include <cmath>

namespace relay::passes {
namespace {

Tensor floats(const std::vector<double>& values) {
  return Tensor::of(kFloat32, {static_cast<int64_t>(values.size())}, std::span<const double>(values));
}

TEST(PowerScales, TheLargestElementChoosesTheExponent) {
  EXPECT_EQ(exponent_for(floats({0.25, -1}), 8), 7);  // steps of 1/128
  EXPECT_EQ(exponent_for(floats({1.0001}), 8), 6);
  EXPECT_EQ(exponent_for(floats({0.5001}), 8), 7);
  EXPECT_EQ(exponent_for(floats({8}), 8), 4);
  EXPECT_EQ(exponent_for(floats({8}), 2), -2);
  EXPECT_EQ(exponent_for(floats({0, 0}), 8), 0);
  EXPECT_EQ(exponent_for(floats({}), 8), 0);
  EXPECT_EQ(exponent_for(floats({1, INFINITY}), 8), std::nullopt);
  EXPECT_EQ(exponent_for(floats({NAN}), 8), std::nullopt);
}

TEST(PowerScales, HalvesGoToEvenAndEndsSaturate) {
  const Tensor q = to_integers(floats({0.25, 0.75, 1.25, -0.25, -0.75, 64, -64, 63.5}), 1, kInt8, -128, 127);
  EXPECT_EQ(q.dtype(), kInt8);
  EXPECT_EQ(q.ints(), (std::vector<int64_t>{0, 2, 2, 0, -2, 127, -128, 127}));
}

TEST(PowerScales, TheLargestIntegerIsBounded) {
  EXPECT_EQ(largest_integer(floats({1, -3}), 4, 48), 48);
  EXPECT_EQ(largest_integer(floats({1, -3}), 4, 47), std::nullopt);
  EXPECT_EQ(largest_integer(floats({NAN}), 4, 47), std::nullopt);
}

}  // namespace
}  // namespace relay::passes
