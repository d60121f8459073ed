#include "tools/debug/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/debug/refused.h"

namespace relay::tools::debug {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor floats(std::vector<double> values, DType dtype = kFloat64) {
  return Tensor::of<double>(dtype, {static_cast<int64_t>(values.size())}, values);
}

TEST(Statistics, OfOrdinaryNumbers) {
  const Statistics s = statistics_of(floats({1, -5, 0, 2, 7}));
  EXPECT_EQ(s.size, 5);
  EXPECT_EQ(s.min, -5);
  EXPECT_EQ(s.max, 7);
  EXPECT_EQ(s.absmax, 7);
  EXPECT_EQ(s.mean, 1);
  EXPECT_DOUBLE_EQ(s.std, std::sqrt((0 + 36 + 1 + 1 + 36) / 5.0));
  EXPECT_EQ(s.zero, 1);
  EXPECT_EQ(s.nan + s.inf, 0);
}

TEST(Statistics, InfinityIsAnExtremeAndNoPartOfTheMean) {
  const Statistics s = statistics_of(floats({-kInf, 1, NAN, 3, kInf}));
  EXPECT_EQ(s.min, -kInf);
  EXPECT_EQ(s.max, kInf);
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.std, 1);
  EXPECT_EQ(s.nan, 1);
  EXPECT_EQ(s.inf, 2);
}

TEST(Statistics, ThereIsNothingToSayAboutNothing) {
  for (const Tensor& t : {floats({}), floats({NAN, NAN})}) {
    const Statistics s = statistics_of(t);
    EXPECT_TRUE(std::isnan(s.min) && std::isnan(s.max) && std::isnan(s.absmax));
    EXPECT_TRUE(std::isnan(s.mean) && std::isnan(s.std));
  }
}

TEST(Statistics, LargeNumbersThatAreCloseHaveAStandardDeviation) {
  const Statistics s = statistics_of(floats({1e9, 1e9 + 1, 1e9 + 2}));
  EXPECT_NEAR(s.std, std::sqrt(2.0 / 3), 1e-6);
}

TEST(Statistics, TheWidestRangeOfDoublesIsNoOverflow) {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  const Statistics wide = statistics_of(floats({-most, most}));
  EXPECT_EQ(wide.mean, 0);
  EXPECT_EQ(wide.std, most);
  const Statistics narrow = statistics_of(floats({0, 4 * least}));
  EXPECT_EQ(narrow.mean, 2 * least);
  EXPECT_EQ(narrow.std, 2 * least);
}

TEST(Statistics, OfEveryKindOfDtype) {
  for (DType d : {kBool, kInt4, kUInt4, kInt8, kUInt64, kFloat16, kBFloat16, kFloat8E4M3, kFloat8E5M2}) {
    const Statistics s = statistics_of(floats({0, 1, 1, 0}, d));
    EXPECT_EQ(s.min, 0) << d.name();
    EXPECT_EQ(s.max, 1) << d.name();
    EXPECT_EQ(s.mean, 0.5) << d.name();
    EXPECT_EQ(s.zero, 2) << d.name();
  }
}

TEST(Checksum, IsOfDtypeShapeAndBits) {
  const Tensor t = floats({1, 2, 3, 4});
  EXPECT_EQ(checksum(t), checksum(t.copy()));
  EXPECT_NE(checksum(t), checksum(t.reshaped({2, 2})));
  EXPECT_NE(checksum(floats({0}, kInt8)), checksum(floats({0}, kUInt8)));
  EXPECT_NE(checksum(floats({0.0})), checksum(floats({-0.0})));
  EXPECT_NE(checksum(floats({1, 2})), checksum(floats({2, 1})));
  EXPECT_EQ(checksum(floats({1, NAN})), checksum(floats({1, -NAN})));
  EXPECT_NE(checksum(floats({1, NAN})), checksum(floats({NAN, 1})));
}

TEST(Checksum, IsTheSameInEveryVersion) { EXPECT_EQ(checksum(floats({1, 2}, kInt8)), 0xc622fd765c857dfaull); }

TEST(Histogram, CountsEveryFiniteElementOnce) {
  EXPECT_EQ(histogram(floats({0, 1, 2, 3, 4, 4, 4, 4}), 4),
            "  [           0,            1)        1 ########\n"
            "  [           1,            2)        1 ########\n"
            "  [           2,            3)        1 ########\n"
            "  [           3,            4]        5 ########################################\n");
}

TEST(Histogram, OfOneValueHasOneRange) {
  EXPECT_EQ(histogram(floats({3, 3, NAN})),
            "  [           3,            3]        2 ########################################\n  nan: 1\n");
}

TEST(Histogram, WhatIsNotFiniteIsCountedApart) {
  EXPECT_EQ(histogram(floats({NAN, kInf, -kInf})), "  no element is finite\n  nan: 1\n  inf: 2\n");
  EXPECT_EQ(histogram(floats({})), "  no element is finite\n");
}

TEST(Histogram, TheWidestRangeOfDoublesIsNoOverflow) {
  const double most = std::numeric_limits<double>::max();
  const std::string text = histogram(floats({-most, 0, most}), 2);
  EXPECT_NE(text.find(" 1 ####"), std::string::npos) << text;
  EXPECT_NE(text.find(" 2 ####"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

TEST(Histogram, TheNarrowestRangeOfDoublesIsNoDivisionByZero) {
  const std::string text = histogram(floats({0, 0, std::numeric_limits<double>::denorm_min()}), 2);
  EXPECT_NE(text.find(" 2 ####"), std::string::npos) << text;
  EXPECT_NE(text.find(" 1 ####"), std::string::npos) << text;
}

// 2^40 tensors, or none at all, in 41 values.
TEST(TensorsIn, OfWhatIsSharedAreBounded) {
  for (const bool with_tensors : {true, false}) {
    Value v = with_tensors ? Value(floats({1})) : Value::tuple({});
    for (int i = 0; i < 40; ++i) v = Value::tuple({v, v});
    EXPECT_EQ(distinct_tensors_in(v).size(), with_tensors ? 1u : 0u);
    EXPECT_THROW(tensors_in(v), Refused);
  }
  const std::vector<Value> many(kMostParts - 1, Value(floats({1})));
  EXPECT_EQ(tensors_in(Value::tuple(many)).size(), kMostParts - 1);
}

TEST(TensorsIn, AreThoseOfTuplesInOrder) {
  const Value a(floats({1})), b(floats({2})), c(floats({3}));
  const Value v = Value::tuple({a, Value::tuple({b}), Value::cell(a), Value::data(nullptr, {a}), c});
  EXPECT_EQ(tensors_in(v), distinct_tensors_in(v));
  const std::vector<const Tensor*> found = tensors_in(v);
  ASSERT_EQ(found.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i]->get(0), static_cast<double>(i + 1));
}

}  // namespace
}  // namespace relay::tools::debug
