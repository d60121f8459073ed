#include "aot/tail_position.h"

#include <gtest/gtest.h>

#include "aot/testing.h"

namespace relay::aot {
namespace {

// The names of the functions of the program that are in tail position. @last is too large to be
// inlined, and @loop calls itself.
std::string in_tail_position(const std::string& main) {
  std::string steps = "%x";
  for (int i = 0; i < 150; ++i) steps = cat("tanh(", steps, " + 1f)");
  const Result<Program> p = program_of(cat(R"(
def @loop(%n: int32, %x: float32) -> float32 { if (%n == 0) { %x } else { @loop(%n - 1, %x * 2f) } }
def @last(%n: int32, %x: float32) -> float32 { if (%n == 7) { @loop(%n, %x) } else { )",
                                           steps, " } }\n", main));
  if (!p) return "";
  std::string out;
  for (Symbol name : p->functions) {
    if (functions_in_tail_position(*p).contains(name)) out += cat(name.text(), " ");
  }
  return out;
}

TEST(TailPosition, WhatIsCalledLastGivesTheResults) {
  EXPECT_EQ(
      in_tail_position(
          "def @main(%n: int32, %x: float32) { if (%n == 3) { @last(%n, %x) } else { @last(%n, %x * 3f) } }"),
      "main last ");
}
TEST(TailPosition, WhatIsCalledElsewhereDoesNot) {
  EXPECT_EQ(
      in_tail_position(
          "def @main(%n: int32, %x: float32) { if (%n == 3) { @last(%n, %x) } else { @last(%n, %x) + 1f } }"),
      "main ");
  EXPECT_EQ(
      in_tail_position(
          "def @main(%n: int32, %x: float32) { let %f = ref(@last); if (%n == 3) { @last(%n, %x) } else { "
          "ref_read(%f)(%n, %x) } }"),
      "main ");
  EXPECT_EQ(in_tail_position(
                "def @main(%n: int32, %x: float32) { let %y = @last(%n, %x); if (%n == 3) { %y } else { "
                "(%y + 1f) } }"),
            "main ");
}
TEST(TailPosition, AProgramThatCallsItselfHasNone) {
  EXPECT_EQ(
      in_tail_position(
          "def @main(%n: int32, %x: float32) -> float32 { if (%n == 3) { %x } else { @main(%n - 1, %x) } }"),
      "");
}

}  // namespace
}  // namespace relay::aot
