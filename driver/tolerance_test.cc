// The floor of bounds where engines flush denormals.
#include "driver/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/testing.h"
#include "interp/machine.h"

namespace relay::driver {
namespace {

constexpr double kTiny = 0x1p-140;
constexpr double kLeast = 0x1p-126;  // the smallest normal number

// The bound of the only element of what @main of the program gives for x.
Bound bound_of(std::string_view text, double x, Denormals denormals) {
  const Module m = analysis::testing::checked(text);
  const std::vector<Value> args{Value(Tensor::scalar(kFloat32, x))};
  return bounds_for(m, "main", args, interp::Machine(m).call("main", args), denormals).at(0);
}

TEST(BoundsFor, AnExactOperatorMayBeOffByWhatFlushingChanges) {
  constexpr std::string_view kMaximum = "def @main(%x: float32) { maximum(%x, 0f) }";
  EXPECT_EQ(bound_of(kMaximum, kTiny, Denormals::kKeep)(0), 0);
  EXPECT_EQ(bound_of(kMaximum, kTiny, Denormals::kFlush)(0), kTiny);
  EXPECT_EQ(bound_of(kMaximum, 1, Denormals::kFlush)(0), 0);
}

TEST(BoundsFor, WhatAFlushedOperandDoesIsMeasured) {
  // 2^-140 times 2^127 is far from 0.
  constexpr std::string_view kLarge = "def @main(%x: float32) { multiply(%x, 1.7014118346046923e+38f) }";
  EXPECT_LT(bound_of(kLarge, kTiny, Denormals::kKeep)(0), 0x1p-30);
  EXPECT_GE(bound_of(kLarge, kTiny, Denormals::kFlush)(0), 0x1p-13);
  EXPECT_LT(bound_of(kLarge, kTiny, Denormals::kFlush)(0), 0x1p-12);
}

TEST(BoundsFor, WhatMovesBitsHasNoFloor) {
  constexpr std::string_view kMoves = "def @main(%x: float32) { where(True, %x, 1f) }";
  EXPECT_EQ(bound_of(kMoves, kTiny, Denormals::kFlush)(0), 0);
  constexpr std::string_view kShapes = "def @main(%x: float32) { expand_dims(%x, axis=0) }";
  EXPECT_EQ(bound_of(kShapes, kTiny, Denormals::kFlush)(0), 0);
  constexpr std::string_view kRepeats = "def @main(%x: float32) { broadcast_to(%x, shape=[2]) }";
  EXPECT_EQ(bound_of(kRepeats, kTiny, Denormals::kFlush)(1), 0);
  constexpr std::string_view kTiles = "def @main(%x: float32) { dyn.tile(%x, tensor([2], int64)) }";
  EXPECT_EQ(bound_of(kTiles, kTiny, Denormals::kFlush)(1), 0);
}

// The square of 2^-70 is denormal, and its root is the length that is divided by.
TEST(BoundsFor, PartsOfAnOperatorMayFlush) {
  for (const std::string_view text :
       {"def @main(%x: Tensor[(1), float32]) { nn.l2_normalize(%x, eps=0, axis=[0]) }",
        "def @main(%x: Tensor[(1), float32]) { negative(nn.l2_normalize(negative(%x), eps=0, axis=[0])) }"}) {
    const Module m = analysis::testing::checked(text);
    Tensor x(kFloat32, {1});
    x.set(0, 0x1p-70);
    const std::vector<Value> args{Value(x)};
    const Value want = interp::Machine(m).call("main", args);
    ASSERT_EQ(want.tensor().get(0), 1);
    EXPECT_TRUE(bounds_for(m, "main", args, want, Denormals::kFlush).at(0).allows(0, INFINITY, 1)) << text;
    EXPECT_FALSE(bounds_for(m, "main", args, want, Denormals::kKeep).at(0).allows(0, INFINITY, 1)) << text;
  }
}

TEST(BoundsFor, AFunctionMayFlushOnItsWay) {
  constexpr std::string_view kExp = "def @main(%x: float32) { exp(%x) }";
  const double kept = bound_of(kExp, -87.5, Denormals::kKeep)(0);  // the result is denormal
  EXPECT_GE(bound_of(kExp, -87.5, Denormals::kFlush)(0), kept + 2 * kLeast);
  EXPECT_LT(bound_of(kExp, -87.5, Denormals::kFlush)(0), kept + 8 * kLeast);
}

TEST(BoundsFor, ANetworkIsMeasuredOnceMore) {
  constexpr std::string_view kNetwork =
      "def @main(%x: float32) { multiply(multiply(%x, 1.7014118346046923e+38f), 2f) }";
  EXPECT_LT(bound_of(kNetwork, kTiny, Denormals::kKeep)(0), 1e-6);
  EXPECT_GE(bound_of(kNetwork, kTiny, Denormals::kFlush)(0), 4 * 0x1p-12);
  // Without denormals there is the floor alone.
  const double kept = bound_of(kNetwork, 1e-38 * 2, Denormals::kKeep)(0);
  EXPECT_NEAR(bound_of(kNetwork, 1e-38 * 2, Denormals::kFlush)(0), kept, 8 * kLeast);
}

}  // namespace
}  // namespace relay::driver
