#include "runtime/flushed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/compare.h"

namespace relay {
namespace {

TEST(Flushed, ZerosKeepTheSignAndNormalNumbersStay) {
  for (const DType d : {kFloat32, kBFloat16, kFloat64}) {
    const double least = smallest_normal(d);
    Tensor t(d, {5});
    t.set(0, least / 2), t.set(1, -least / 2), t.set(2, least), t.set(3, NAN), t.set(4, 0);
    EXPECT_TRUE(has_denormals(t)) << d.name();
    const Tensor f = flushed(t);
    EXPECT_EQ(f.get(0), 0);
    EXPECT_FALSE(std::signbit(f.get(0)));
    EXPECT_EQ(f.get(1), 0);
    EXPECT_TRUE(std::signbit(f.get(1)));
    EXPECT_EQ(f.get(2), least);
    EXPECT_TRUE(std::isnan(f.get(3)));
    EXPECT_FALSE(has_denormals(f));
    EXPECT_EQ(flushed(f).data(), f.data()) << "a tensor without any is the same";
    EXPECT_EQ(t.get(0), least / 2) << "the argument stays";
  }
}

TEST(Flushed, HalvesAndIntegersHaveNone) {
  Tensor half(kFloat16, {1});
  half.set(0, 0x1p-24);
  EXPECT_FALSE(has_denormals(half));
  EXPECT_FALSE(has_denormals(Tensor::scalar_int(kInt32, 1)));
  EXPECT_FALSE(has_denormals(Tensor(kFloat32, {0})));
}

// Of an integer, of a NaN and beside an infinity no distance says what is allowed.
TEST(Bound, AnotherResultIsAsGoodWhereNoDistanceSaysIt) {
  const Bound none = [](int64_t) { return 0.0; };
  const auto fits = [&](DType d, double got, double want, double other) {
    Bound b = none;
    b.allow(Tensor::scalar(d, other));
    return compare(Tensor::scalar(d, got), Tensor::scalar(d, want), b).ok;
  };
  EXPECT_TRUE(fits(kBool, 0, 1, 0));
  EXPECT_TRUE(fits(kInt32, 5, 2, 5));
  EXPECT_FALSE(fits(kInt32, 4, 2, 5));
  EXPECT_TRUE(fits(kFloat32, NAN, 2, NAN));
  EXPECT_FALSE(fits(kFloat32, 3, 2, NAN));
  EXPECT_TRUE(fits(kFloat32, -INFINITY, -88, -INFINITY));
  EXPECT_TRUE(fits(kFloat32, -100, -88, -INFINITY));
  EXPECT_FALSE(fits(kFloat32, -80, -88, -INFINITY));
  EXPECT_FALSE(fits(kFloat32, INFINITY, -88, -INFINITY));
  EXPECT_FALSE(fits(kFloat32, 3, 2, 3)) << "of finite numbers the distance says it";
}

}  // namespace
}  // namespace relay
