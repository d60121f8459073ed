#include "tools/debug/condition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/debug/refused.h"

namespace relay::tools::debug {
namespace {

Value floats(std::vector<double> values) {
  return Value(Tensor::of<double>(kFloat32, {static_cast<int64_t>(values.size())}, values));
}

TEST(Condition, HoldsOfWhatItSays) {
  const double inf = std::numeric_limits<double>::infinity();
  struct Row {
    const char* condition;
    Value value;
    bool holds;
  };
  const Row kRows[] = {
      {"nan", floats({1, NAN}), true},
      {"nan", floats({1, inf}), false},
      {"inf", floats({1, -inf}), true},
      {"inf", floats({1, NAN}), false},
      {"nan", Value(Tensor::scalar_int(kInt32, 3)), false},
      {"max > 2", floats({1, 3}), true},
      {"max > 3", floats({1, 3}), false},
      {"max >= 3", floats({1, 3}), true},
      {"max > 1e300", floats({inf}), true},
      {"min < 0", floats({-1, 3}), true},
      {"min < -1", floats({-1, 3}), false},
      {"min <= -1", floats({-1, 3}), true},
      {"mean == 1", floats({-1, 3}), true},
      {"mean != 1", floats({-1, 3}), false},
      {"mean != 1", floats({-1, 4}), true},
      {"std > 1.9", floats({-1, 3}), true},
      {"std > 2.1", floats({-1, 3}), false},
      {"absmax >= 5", floats({-5, 3}), true},
      {"absmax > 5", floats({-5, 3}), false},
      {"max > 2", floats({NAN, 3}), true},
      {"nan|inf", floats({1, -inf}), true},
      {"nan | inf", floats({1, NAN}), true},
      {"nan|inf", floats({1, 2}), false},
      {"nan|max > 3|min < 0", floats({-1, 2}), true},
      // There is no extreme of no numbers, so nothing is true of it.
      {"max > -1e9", floats({NAN}), false},
      {"max != 0", floats({}), false},
  };
  for (const Row& r : kRows) EXPECT_EQ(Condition::parse(r.condition).holds(r.value), r.holds) << r.condition;
}

TEST(Condition, OfATupleOneTensorIsEnough) {
  const Condition c = Condition::parse("max > 2");
  EXPECT_TRUE(c.holds(Value::tuple({floats({1}), Value::tuple({floats({3})})})));
  EXPECT_FALSE(c.holds(Value::tuple({floats({1}), floats({2})})));
  EXPECT_FALSE(c.holds(Value::tuple({})));
  EXPECT_FALSE(c.holds(Value::cell(floats({3}))));
}

TEST(Condition, IsPrintedAsItCanBeRead) {
  const std::pair<const char*, const char*> kRows[] = {
      {"nan", "nan"},
      {" inf ", "inf"},
      {"max>1e3", "max > 1000"},
      {"min <-2", "min < -2"},
      {"absmax >= +0.5", "absmax >= 0.5"},
      {"max < inf", "max < inf"},
  };
  for (const auto& [text, expected] : kRows) {
    EXPECT_EQ(Condition::parse(text).text(), expected);
    EXPECT_EQ(Condition::parse(expected).text(), expected);
  }
}

TEST(Condition, WhatIsNoneIsNamed) {
  const std::pair<const char*, const char*> kRows[] = {
      {"", "a condition must follow `if`"},
      {"big", "there is no condition `big`"},
      {"maximum > 3", "there is no condition `maximum > 3`"},
      {"> 3", "there is no condition `> 3`"},
      {"nan 3", "`3` after `nan` means nothing"},
      {"inf > 3", "`> 3` after `inf` means nothing"},
      {"max", "`max` must be compared with a number"},
      {"max = 3", "`max` must be compared with a number"},
      {"max 3", "`max` must be compared with a number"},
      {"max >", "`` is no number"},
      {"max > 3x", "`3x` is no number"},
      {"max > > 3", "`> 3` is no number"},
      {"max > nan", "`nan` is no number"},
  };
  for (const auto& [text, expected] : kRows) {
    try {
      Condition::parse(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const Refused& why) {
      EXPECT_NE(std::string(why.what()).find(expected), std::string::npos) << text << ": " << why.what();
      EXPECT_NE(std::string(why.what()).find("a condition is nan, inf"), std::string::npos) << why.what();
    }
  }
}

}  // namespace
}  // namespace relay::tools::debug
