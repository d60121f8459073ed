#include "base/failure_names.h"

#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"

namespace relay {
namespace {

TEST(FailureNames, TrapsOfEachKindHaveOne) {
  EXPECT_EQ(name_of_trap("`divide`: integer division by zero"), "division-by-zero");
  EXPECT_EQ(name_of_trap("`divide`: integer quotient does not fit"), "integer-overflow");
  EXPECT_EQ(name_of_trap("`take`: index out of range"), "index-out-of-range");
  EXPECT_EQ(name_of_trap("`left_shift`: shift by at least the width"), "shift-out-of-range");
  EXPECT_EQ(name_of_trap("wrong shape: expected Tensor[(2), int8], found out of range"), "shape-mismatch");
  EXPECT_EQ(name_of_trap("no arm of the match fits the value Nil"), "match-not-exhaustive");
}

TEST(FailureNames, OfKernelsOfTheUser) {
  const std::string kernel = "kernel `@pick`: ";
  EXPECT_EQ(name_of_trap(kernel + kDivisionByZero + " in `60 // x[i]`"), "division-by-zero");
  EXPECT_EQ(name_of_trap(kernel + kShiftTooWide + " in a shift"), "shift-out-of-range");
  EXPECT_EQ(name_of_trap(kernel + "`y[i] + 1`" + kOutOfRangeOfDim + "0 of `x`, which has extent `m`"),
            "index-out-of-range");
  EXPECT_EQ(name_of_trap(kernel + kAnIndex + kOutOfRangeOfDim + "0 of `x`"), "index-out-of-range");
  EXPECT_EQ(name_of_trap(kernel + "an index or a divisor is out of range"), "requirement-failed");
  EXPECT_EQ(name_of_trap(kernel + "`y[i]"), "requirement-failed");
  EXPECT_EQ(name_of_trap("kernel `@pick"), "requirement-failed");
}

TEST(FailureNames, AnyOtherTrapIsAFailedRequirement) {
  EXPECT_EQ(name_of_trap("the temperature is out of range"), "requirement-failed");
  EXPECT_EQ(name_of_trap("this is an integer division by zero"), "requirement-failed");
  EXPECT_EQ(name_of_trap("`take`: its index out of range"), "requirement-failed");
  EXPECT_EQ(name_of_trap("negative"), "requirement-failed");
  EXPECT_EQ(name_of_trap("division by zero is what it says, and more"), "requirement-failed");
  EXPECT_EQ(name_of_trap(""), "requirement-failed");
}

TEST(FailureNames, TheOptionNamesALimit) {
  EXPECT_EQ(name_of_limit("the program took more than 9 steps (--fuel), in @main at a.relay:1:2"),
            "limit-fuel");
  EXPECT_EQ(name_of_limit("evaluation is nested more than 9 deep (--max-depth)"), "limit-depth");
  EXPECT_EQ(name_of_limit("the program ran for more than 1 s (--max-time)"), "limit-time");
  EXPECT_EQ(name_of_limit("the program needs more than 1 GiB of memory (--max-memory)"), "limit-memory");
}

TEST(FailureNames, LimitsWithoutAnOptionHaveANameToo) {
  EXPECT_EQ(name_of_limit("a range has more elements than any memory holds"), "limit-memory");
  EXPECT_EQ(name_of_limit("the run was cancelled, in @main"), "cancelled");
  EXPECT_EQ(name_of_limit("not enough memory for the result of `add`"), "limit-memory");
  EXPECT_EQ(name_of_limit("there is no memory for output `y` (8 bytes)"), "limit-memory");
  EXPECT_EQ(name_of_limit("kernel @f with its checks: too deep, in @main at /home/u/memory/a.relay:1:2"),
            "limit-reached");
}

}  // namespace
}  // namespace relay
