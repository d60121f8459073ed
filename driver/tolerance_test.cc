// What engines are held to: bounds to the bit, their middle, and their floor where denormals are
// flushed.
#include "driver/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/testing.h"
#include "base/cat.h"
#include "interp/machine.h"

namespace relay::driver {
namespace {

constexpr double kTiny = 0x1p-140;
constexpr double kLeast = 0x1p-126;  // the smallest normal number

// What @main of the program has to give for x.
Wanted wanted(std::string_view text, double x, Denormals denormals = Denormals::kFlush) {
  const Module m = analysis::testing::checked(text);
  const std::vector<Value> args{Value(Tensor::scalar(kFloat32, x))};
  return wanted_of(m, "main", args, interp::Machine(m).call("main", args), denormals);
}

// The bound of the only element of what @main of the program gives for x.
Bound bound_of(std::string_view text, double x, Denormals denormals) {
  return wanted(text, x, denormals).bounds.at(0);
}

bool takes(const Wanted& w, double got) { return w.compare(0, Tensor::scalar(kFloat32, got)).ok; }

TEST(WantedOf, AnExactOperatorGivesZerosOfTheRightSign) {
  const Wanted w = wanted("def @main(%x: float32) { negative(%x) }", 0);
  EXPECT_TRUE(takes(w, -0.0));
  EXPECT_FALSE(takes(w, 0));
}

// Contraction needs two operators.
TEST(WantedOf, OneRoundingIsRightToTheBit) {
  for (const std::string_view op :
       {"add(%x, 3f)", "subtract(%x, 3f)", "multiply(%x, 3f)", "divide(%x, 3f)", "sqrt(%x)"}) {
    const Wanted w = wanted(cat("def @main(%x: float32) { ", op, " }"), 0.7f);
    const auto right = static_cast<float>(w.own.at(0).get(0));
    EXPECT_TRUE(takes(w, right)) << op;
    EXPECT_FALSE(takes(w, std::nextafter(right, 10.f))) << op;
    EXPECT_FALSE(takes(w, std::nextafter(right, -10.f))) << op;
  }
  EXPECT_TRUE(takes(wanted("def @main(%x: float32) { multiply(%x, 0f) }", -1), -0.0));
  EXPECT_FALSE(takes(wanted("def @main(%x: float32) { multiply(%x, 0f) }", -1), 0));
  EXPECT_GT(wanted("def @main(%x: float32) { add(multiply(%x, 3f), 1f) }", 0.7f).bounds.at(0)(0), 0);
}

// A processor rounds to 24 bits before it decides that 2^-126 (1 - 2^-25) is denormal, and flushes
// it. Where denormals are kept it is 2^-126.
TEST(WantedOf, AResultAtTheEdgeOfDenormalsMayBeFlushed) {
  constexpr std::string_view kHalf = "def @main(%x: float32) { multiply(%x, 0.5f) }";
  EXPECT_TRUE(takes(wanted(kHalf, 2 * kLeast), 0));
  EXPECT_FALSE(takes(wanted(kHalf, 2 * kLeast, Denormals::kKeep), 0));
  EXPECT_FALSE(takes(wanted(kHalf, 4 * kLeast), kLeast));
}

// The interpreter is itself away from float64. Measured from there, an engine could be away by its
// bound and that much more.
TEST(WantedOf, TheBoundsOfANetworkAreAroundFloat64) {
  const Wanted w = wanted("def @main(%x: float32) { subtract(add(%x, 64f), 64f) }", 0.77f);
  const double bound = w.bounds.at(0)(0), exact = w.middle.at(0).get(0), own = w.own.at(0).get(0);
  ASSERT_EQ(w.middle.at(0).dtype(), kFloat64);
  EXPECT_EQ(exact, 0.77f);
  ASSERT_GT(std::fabs(own - exact), 0.01 * bound);
  const double side = own > exact ? 1 : -1;
  EXPECT_TRUE(takes(w, exact + side * 0.99 * bound));
  EXPECT_FALSE(takes(w, own + side * 0.995 * bound));
  EXPECT_EQ(w.uncapped.at(0), "");
}

TEST(WantedOf, WhatFloat32CannotHoldIsInfinite) {
  const Wanted one = wanted("def @main(%x: float32) { exp(%x) }", 100);
  EXPECT_TRUE(takes(one, INFINITY));
  const Wanted two = wanted("def @main(%x: float32) { negative(exp(%x)) }", 100);
  EXPECT_TRUE(takes(two, -INFINITY));
}

TEST(WantedOf, SaysWhyABoundHasNoCap) {
  EXPECT_EQ(wanted("def @main(%x: float32) { subtract(add(%x, 134217728f), 134217728f) }", 3).uncapped.at(0),
            "ill-conditioned");
  EXPECT_EQ(wanted("def @main(%x: float32) { multiply(multiply(%x, 1.7014118346046923e+38f), 2f) }", kTiny)
                .uncapped.at(0),
            "flushed");
}

TEST(WantedOf, AnExactOperatorMayBeOffByWhatFlushingChanges) {
  constexpr std::string_view kMaximum = "def @main(%x: float32) { maximum(%x, 0f) }";
  EXPECT_EQ(bound_of(kMaximum, kTiny, Denormals::kKeep)(0), 0);
  EXPECT_EQ(bound_of(kMaximum, kTiny, Denormals::kFlush)(0), kTiny);
  EXPECT_EQ(bound_of(kMaximum, 1, Denormals::kFlush)(0), 0);
}

TEST(WantedOf, WhatAFlushedOperandDoesIsMeasured) {
  // 2^-140 times 2^127 is far from 0.
  constexpr std::string_view kLarge = "def @main(%x: float32) { multiply(%x, 1.7014118346046923e+38f) }";
  EXPECT_LT(bound_of(kLarge, kTiny, Denormals::kKeep)(0), 0x1p-30);
  EXPECT_GE(bound_of(kLarge, kTiny, Denormals::kFlush)(0), 0x1p-13);
  EXPECT_LT(bound_of(kLarge, kTiny, Denormals::kFlush)(0), 0x1p-12);
}

TEST(WantedOf, WhatMovesBitsHasNoFloor) {
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
TEST(WantedOf, PartsOfAnOperatorMayFlush) {
  for (const std::string_view text :
       {"def @main(%x: Tensor[(1), float32]) { nn.l2_normalize(%x, eps=0, axis=[0]) }",
        "def @main(%x: Tensor[(1), float32]) { negative(nn.l2_normalize(negative(%x), eps=0, axis=[0])) }"}) {
    const Module m = analysis::testing::checked(text);
    Tensor x(kFloat32, {1});
    x.set(0, 0x1p-70);
    const std::vector<Value> args{Value(x)};
    const Value want = interp::Machine(m).call("main", args);
    ASSERT_EQ(want.tensor().get(0), 1);
    const auto bound = [&](Denormals d) { return wanted_of(m, "main", args, want, d).bounds.at(0); };
    EXPECT_TRUE(bound(Denormals::kFlush).allows(0, INFINITY, 1)) << text;
    EXPECT_FALSE(bound(Denormals::kKeep).allows(0, INFINITY, 1)) << text;
  }
}

TEST(WantedOf, AFunctionMayFlushOnItsWay) {
  constexpr std::string_view kExp = "def @main(%x: float32) { exp(%x) }";
  const double kept = bound_of(kExp, -87.5, Denormals::kKeep)(0);  // the result is denormal
  EXPECT_GE(bound_of(kExp, -87.5, Denormals::kFlush)(0), kept + 2 * kLeast);
  EXPECT_LT(bound_of(kExp, -87.5, Denormals::kFlush)(0), kept + 8 * kLeast);
}

TEST(WantedOf, ANetworkIsMeasuredOnceMore) {
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
