#include "tests/support/day.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

namespace relay::tests {
namespace {

TEST(FirstOfDay, FollowsFromTheVariable) {
  setenv("RELAY_DAY", "20000", 1);
  EXPECT_EQ(first_of_day(), 20000 * kNumbersOfDay);
  setenv("RELAY_DAY", "20001", 1);
  EXPECT_EQ(first_of_day(), 20001 * kNumbersOfDay);
}

TEST(FirstOfDay, IsOfTheClockOtherwise) {
  unsetenv("RELAY_DAY");
  const uint64_t days = first_of_day() / kNumbersOfDay;
  EXPECT_GT(days, 20000u);  // in 2024
  EXPECT_EQ(first_of_day() % kNumbersOfDay, 0u);
}

TEST(FirstOfDay, IsANumber) {
  for (const char* wrong : {"", "today", "20000x", "-1", "18446744073709551615"}) {
    setenv("RELAY_DAY", wrong, 1);
    EXPECT_THROW(first_of_day(), std::runtime_error) << wrong;
  }
}

}  // namespace
}  // namespace relay::tests
