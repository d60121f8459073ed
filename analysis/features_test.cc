#include "analysis/features.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "base/cat.h"

namespace relay::analysis {
namespace {

// "if 1, match 2": what @main has.
std::string features(std::string_view program) {
  const Module m = testing::checked(program);
  const auto counts = features_of(m, "main");
  std::string out;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) out += cat(out.empty() ? "" : ", ", name_of(static_cast<Feature>(i)), " ", counts[i]);
  }
  return out;
}

TEST(Features, StaticDataflowHasNone) {
  EXPECT_EQ(features("def @main(%x: Tensor[(3), float32]) { add(%x, 1f) }"), "");
}

TEST(Features, AreThoseOfWhatIsReached) {
  EXPECT_EQ(features("def @other(%c: bool) { if (%c) { 1 } else { 2 } }\n"
                     "def @main() { 1 }"),
            "");
  EXPECT_EQ(features("def @other(%c: bool) { if (%c) { 1 } else { 2 } }\n"
                     "def @main() { @other(True) }"),
            "if 1");
}

TEST(Features, OfTheWholeLanguage) {
  EXPECT_EQ(features("type List[A] { Cons(A, List[A]), Nil }\n"
                     "def @length[A](%l: List[A]) -> int32 {\n"
                     "  match (%l) { Nil => 0, Cons(_, %rest) => @length(%rest) + 1 }\n"
                     "}\n"
                     "def @main() {\n"
                     "  let %r = ref(0);\n"
                     "  let %f = fn (%x: int32) { ref_write(%r, %x) };\n"
                     "  %f(@length(Cons(1, Nil)));\n"
                     "  ref_read(%r)\n"
                     "}"),
            "match 1, references 3, function values 1, recursive functions 1, generic functions 1");
}

TEST(Features, FunctionsThatArePassedOnAreValues) {
  EXPECT_EQ(features("def @twice(%f: fn(int32) -> int32) { %f(%f(1)) }\n"
                     "def @inc(%x: int32) { %x + 1 }\n"
                     "def @main() { @twice(@inc) }"),
            "function values 1");
}

TEST(Features, CountExtents) {
  EXPECT_EQ(features("def @main(%x: Tensor[(n), float32]) { arange(0, 1 + 1, 1) }"), "unknown extents 1");
  EXPECT_EQ(features("def @main(%x: Tensor[(n), float32]) { add(%x, 1f) }"), "open extents 2");
}

// Two that call each other, and a local one.
TEST(Features, RecursionIsGlobalOrLocal) {
  EXPECT_EQ(features("def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
                     "def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }\n"
                     "def @main() { @even(4) }"),
            "if 2, recursive functions 2");
  EXPECT_EQ(features("def @main() {\n"
                     "  let %f = fn (%n: int32) -> int32 { if (%n == 0) { 0 } else { %f(%n - 1) } };\n"
                     "  %f(3)\n"
                     "}"),
            "if 1, function values 1, recursive functions 1");
}

}  // namespace
}  // namespace relay::analysis
