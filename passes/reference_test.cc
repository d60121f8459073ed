#include "passes/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/testing.h"
#include "base/cat.h"
#include "base/failure.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;

Tensor vector(DType dtype, std::vector<double> values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}

constexpr double kUnit = 0x1p-24;  // u of float32

TEST(TensorsOf, AreAsManyAsAValueMayHaveParts) {
  const std::vector<Value> most(kMostParts - 1, Value(vector(kFloat32, {1})));
  EXPECT_EQ(tensors_of(Value::tuple(most)).size(), kMostParts - 1);
  const std::vector<Value> more(kMostParts, most[0]);
  EXPECT_THROW(tensors_of(Value::tuple(more)), Exhausted);
}

TEST(ErrorBound, IsFourTimesTheErrorOfFloat32) {
  const ErrorBound b = error_bound(vector(kFloat64, {1, 2}), kFloat32, 0x1p-20);
  EXPECT_EQ(b.error, 0x1p-20);
  EXPECT_EQ(b.magnitude, 2);
  EXPECT_EQ(b.bound, 4 * 0x1p-20);
  EXPECT_FALSE(b.ill_conditioned);
  EXPECT_EQ(b.note(), "");
}

TEST(ErrorBound, IsNeverBelowFourRoundings) {
  EXPECT_EQ(error_bound(vector(kFloat64, {8}), kFloat32, 0).bound, 4 * kUnit * 8);
}

TEST(ErrorBound, IsCappedWhereFloat32IsGoodEnough) {
  const ErrorBound b = error_bound(vector(kFloat64, {1}), kFloat32, 0x1p-11);
  EXPECT_EQ(b.bound, 1e-3);
  EXPECT_FALSE(b.ill_conditioned);
  EXPECT_EQ(error_bound(vector(kFloat16, {1}), kFloat16, 0x1p-7).bound, 1e-2);
}

TEST(ErrorBound, SaysWhatFloat32CannotCompute) {
  const ErrorBound b = error_bound(vector(kFloat64, {1}), kFloat32, 0.25);
  EXPECT_EQ(b.bound, 1);
  EXPECT_TRUE(b.ill_conditioned);
  EXPECT_NE(b.note().find("0.25 away"), std::string::npos) << b.note();
}

TEST(ErrorBound, WhatFlushingChangesCountsTowardsTheCap) {
  const ErrorBound one = error_bound(vector(kFloat64, {1}), kFloat32, 0);
  EXPECT_NEAR(with_floor(one, kFloat32, 1e-4).bound, 4e-4 + 4 * kUnit, 1e-9);
  EXPECT_EQ(with_floor(one, kFloat32, 3e-4).bound, 1e-3);
  EXPECT_EQ(with_floor(one, kFloat32, 3e-4).uncapped(), "");
  const ErrorBound flushed = with_floor(one, kFloat32, 2e-3);
  EXPECT_GE(flushed.bound, 8e-3);
  EXPECT_EQ(flushed.uncapped(), "flushed");
  EXPECT_NE(flushed.note().find("by 0.002"), std::string::npos) << flushed.note();
}

TEST(ErrorBound, TheFloorOfAZeroIsNoLostCap) {
  const ErrorBound b = with_floor(error_bound(vector(kFloat64, {0}), kFloat32, 0), kFloat32, 0);
  EXPECT_EQ(b.bound, 4 * 0x1p-126);
  EXPECT_EQ(b.uncapped(), "");
}

TEST(ErrorBound, SaysWhyItHasNoCap) {
  const Tensor one = vector(kFloat64, {1});
  EXPECT_EQ(error_bound(one, kFloat32, 0.25).uncapped(), "ill-conditioned");
  EXPECT_EQ(error_bound(one, kFloat32, 0.25, {true, 0}).uncapped(), "quantised");
  EXPECT_EQ(error_bound(one, kFloat32, 1e-5, {true, 0}).uncapped(), "") << "it is below the cap";
  EXPECT_EQ(error_bound(one, kFloat32, 1e-5).uncapped(), "");
}

TEST(ErrorBound, OfIntegersIsZero) { EXPECT_EQ(error_bound(vector(kInt32, {7}), kInt32, 0).bound, 0); }

TEST(ErrorBound, OfDequantisedValuesIsWholeSteps) {
  const Tensor y = vector(kFloat64, {4});
  EXPECT_NEAR(error_bound(y, kFloat32, 0, {true, 0.5}).bound, 0.5, 1e-3);
  const ErrorBound b = error_bound(y, kFloat32, 0.3, {true, 0.5});
  EXPECT_NEAR(b.bound, 1.5, 1e-3);
  EXPECT_EQ(b.note(), "quantised: the bound in steps of the last quantised values, 0.5, is 3");
  EXPECT_FALSE(b.ill_conditioned);
}

TEST(ErrorBound, BehindQuantisedValuesIsNotCapped) {
  const ErrorBound b = error_bound(vector(kFloat64, {1}), kFloat32, 0.1, {true, 0});
  EXPECT_EQ(b.bound, 0.4);
  EXPECT_EQ(b.note(), "quantised: rounding to steps takes the interpreter 0.1 away from the float64 result");
}

// 2^24 and 2^24 + 1 are one number in float32: a running sum of ones stops there.
TEST(Reference, SumsOneTermAfterTheOtherInFloat32) {
  const Module m = checked(
      "def @main(%x: Tensor[(1), float32]) { sum(concatenate((%x, ones(shape=[100], dtype=\"float32\")))) }");
  const std::vector<Value> args{Value(vector(kFloat32, {0x1p24}))};
  const Reference r = reference_of(m, "main", args);
  EXPECT_EQ(r.exact[0].get(0), 0x1p24 + 100);
  EXPECT_EQ(r.own[0].get(0), 0x1p24);
  EXPECT_GE(r.bounds[0].error, 100);
}

// One element in one order may be right by luck: the error of 8 runs is not.
TEST(Reference, MeasuresASingleElementMoreThanOnce) {
  const Module m = checked("def @main(%x: Tensor[(64), float32]) { sum(tanh(%x)) }");
  std::vector<double> x;
  for (int i = 0; i < 64; ++i) x.push_back(0.0625 * (i % 2 == 0 ? i : -i));
  const std::vector<Value> args{Value(vector(kFloat32, x))};
  const Reference r = reference_of(m, "main", args);
  EXPECT_GE(r.bounds[0].error, error_of(r.exact[0], r.own[0]));
  EXPECT_GT(r.bounds[0].error, 0);
  EXPECT_LT(r.bounds[0].error, 1e-5);
}

int runs_of(const std::string& text) {
  int runs = 0;
  const Module m = checked(text);
  reference_of(m, "main", std::vector<Value>{Value(vector(kFloat32, {.1, .2, .3, .4, .5, .6, .7, .8}))},
               [&](bool) {
                 ++runs;
                 return ValueObserver();
               });
  return runs;
}

// The map magnifies each rounding, so that one draw of roundings says little of another's.
TEST(Reference, DisturbsAgainWhileErrorsGrow) {
  std::string chaos = "def @main(%x0: Tensor[(8), float32]) {\n";
  for (int i = 0; i < 24; ++i) {
    chaos += cat("  let %x", i + 1, " = multiply(3.9f, multiply(%x", i, ", subtract(1f, %x", i, ")));\n");
  }
  EXPECT_GT(runs_of(chaos + "  %x24 }"), 5);
  EXPECT_EQ(runs_of("def @main(%x: Tensor[(8), float32]) { reverse(%x, axis=0) }"), 5);
}

TEST(Reference, DisturbsNoInfinity) {
  const Module m = checked("def @main(%x: Tensor[(2), float32]) { exp(log(%x)) }");
  const Reference r = reference_of(m, "main", std::vector<Value>{Value(vector(kFloat32, {0, 3}))});
  EXPECT_EQ(r.exact[0].get(0), 0);
  EXPECT_TRUE(r.compare(0, vector(kFloat32, {0, 3})).ok);
  EXPECT_LT(r.bounds[0].bound, 1e-4);
}

TEST(Reference, CountsStepsOfTheLastQuantisedValues) {
  const Module m = checked(
      "def @main(%x: Tensor[(8), float32]) {"
      "  reshape(qnn.dequantize(qnn.quantize(%x, 0.25f, 0, out_dtype=\"int8\"), 0.25f, 0), newshape=[2, 4]) "
      "}");
  const std::vector<Value> args{Value(vector(kFloat32, {0, 1, 2, 3, 4, 5, 6, 7}))};
  const Reference r = reference_of(m, "main", args);
  EXPECT_EQ(r.bounds[0].step, 0.25);
  EXPECT_EQ(r.bounds[0].note(), "quantised: the bound in steps of the last quantised values, 0.25, is 1");
  const Module scaled = checked(
      "def @main(%x: Tensor[(8), float32]) {"
      "  exp(qnn.dequantize(qnn.quantize(%x, 0.25f, 0, out_dtype=\"int8\"), 0.25f, 0)) }");
  EXPECT_EQ(reference_of(scaled, "main", args).bounds[0].step, 0) << "exp changes the size of steps";
}

TEST(Reference, CapsOutputsBesideQuantisedOnes) {
  const Module m = checked(
      "def @main(%x: Tensor[(8), float32]) {"
      "  (multiply(%x, 2f), exp(qnn.dequantize(qnn.quantize(%x, 0.25f, 0, out_dtype=\"int8\"), 0.25f, 0))) "
      "}");
  const Reference r =
      reference_of(m, "main", std::vector<Value>{Value(vector(kFloat32, {0, 1, 2, 3, 4, 5, 6, 7}))});
  ASSERT_EQ(r.bounds.size(), 2u);
  EXPECT_FALSE(r.bounds[0].quantised);
  EXPECT_EQ(r.bounds[0].note(), "");
  EXPECT_TRUE(r.bounds[1].quantised);
}

TEST(Reference, ComparesInFloat64) {
  const Module m = checked("def @main(%x: Tensor[(1), float32]) { exp(%x) }");
  const std::vector<Value> args{Value(vector(kFloat32, {1}))};
  const Reference r = reference_of(m, "main", args);
  EXPECT_TRUE(r.compare(0, vector(kFloat32, {2.7182817459106445})).ok);
  EXPECT_LT(r.compare(0, vector(kFloat32, {2.7182817459106445})).ulps, 1) << "of the program's dtype";
  EXPECT_FALSE(r.compare(0, vector(kFloat32, {2.7193})).ok);
  EXPECT_FALSE(r.compare(0, vector(kFloat64, {2.7182817459106445})).ok) << "another dtype";
}

// The plain order gives exactly 0, as the terms come in pairs; any other order is some
// ULP of a term away.
TEST(Reference, AllowsAnotherOrderOfTermsThatCancel) {
  const Module m = checked("def @main(%x: Tensor[(64), float32]) { negative(sum(%x)) }");
  std::vector<double> x;
  double terms = 0;
  for (int i = 0; i < 64; ++i) {
    x.push_back(i % 2 == 0 ? 1.1f + static_cast<float>(i) : -x.back());
    terms += std::fabs(x.back());
  }
  const Reference r = reference_of(m, "main", std::vector<Value>{Value(vector(kFloat32, x))});
  EXPECT_EQ(r.exact[0].get(0), 0);
  EXPECT_EQ(r.own[0].get(0), 0);
  const auto is_ok = [&](double y) {
    Tensor t(kFloat32, {});
    t.set(0, y);
    return r.compare(0, t).ok;
  };
  EXPECT_TRUE(is_ok(kUnit * terms));
  EXPECT_FALSE(is_ok(8 * kUnit * terms));
}

// In float32 the 3 is lost beside 2^27, so that the shape of the result is another one.
TEST(Reference, SaysThatRoundingChangesTheShape) {
  const Module m =
      checked("def @main(%x: float32) { arange(0f, subtract(add(%x, 134217728f), 134217728f), 1f) }");
  const Reference r = reference_of(m, "main", std::vector<Value>{Value(Tensor::scalar(kFloat32, 3))});
  ASSERT_EQ(r.own.size(), 1u);
  EXPECT_EQ(r.own[0].shape(), Shape{0});
  EXPECT_EQ(r.exact[0].shape(), Shape{0});
  EXPECT_TRUE(r.bounds[0].ill_conditioned);
}

}  // namespace
}  // namespace relay::passes
