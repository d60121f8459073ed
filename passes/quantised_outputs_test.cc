#include "passes/quantised_outputs.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "base/cat.h"

namespace relay::passes {
namespace {

// For @main of the program, with what stands before it. ROUNDED is %x in steps of 0.25.
std::vector<bool> outputs(std::string_view body, size_t count, std::string_view before = "") {
  constexpr std::string_view kWord = "ROUNDED",
                             kMeaning =
                                 R"(qnn.dequantize(qnn.quantize(%x, 0.25f, 0, out_dtype="int8"), 0.25f, 0))";
  std::string text = cat(before, "def @main(%x: Tensor[(4), float32]) {", body, "}");
  for (size_t at = 0; (at = text.find(kWord, at)) != std::string::npos;)
    text.replace(at, kWord.size(), kMeaning);
  return quantised_outputs(analysis::testing::checked(text), "main", count);
}

using Each = std::vector<bool>;

TEST(QuantisedOutputs, AreThoseThatDependOnOne) {
  EXPECT_EQ(outputs("(exp(%x), ROUNDED)", 2), (Each{false, true}));
  EXPECT_EQ(outputs("(ROUNDED, (exp(%x), %x))", 3), (Each{true, false, false}));
  EXPECT_EQ(outputs("exp(%x)", 1), (Each{false}));
}

TEST(QuantisedOutputs, FollowLets) {
  EXPECT_EQ(outputs("let %y = ROUNDED; let %z = exp(%y); let %w = exp(%x); (%z, %w, %y)", 3),
            (Each{true, false, true}));
}

TEST(QuantisedOutputs, FollowFunctionsThroughOthers) {
  constexpr std::string_view kFunctions =
      "def @round(%x: Tensor[(4), float32]) { ROUNDED }"
      "def @twice(%x: Tensor[(4), float32]) { @round(@round(%x)) }"
      "def @plain(%x: Tensor[(4), float32]) { exp(%x) }";
  EXPECT_EQ(outputs("(@plain(%x), @twice(%x), @plain(@twice(%x)))", 3, kFunctions),
            (Each{false, true, true}));
}

TEST(QuantisedOutputs, FollowClosures) {
  EXPECT_EQ(outputs("let %y = ROUNDED; let %f = fn(%z: Tensor[(4), float32]) { add(%z, %y) };"
                    "(%f(%x), exp(%x))",
                    2),
            (Each{true, false}));
}

TEST(QuantisedOutputs, FollowConditions) {
  EXPECT_EQ(outputs("(if (less(sum(ROUNDED), 0f)) { %x } else { exp(%x) }, %x)", 2), (Each{true, false}));
}

// A tuple that is one value is not looked into.
TEST(QuantisedOutputs, AreAllOfWhatIsNoTuple) {
  EXPECT_EQ(outputs("if (True) { (%x, ROUNDED) } else { (%x, %x) }", 2), (Each{true, true}));
  EXPECT_EQ(outputs("if (True) { (%x, exp(%x)) } else { (%x, %x) }", 2), (Each{false, false}));
}

// What a cell holds was written somewhere else.
TEST(QuantisedOutputs, AreAllWhereThereAreReferences) {
  EXPECT_EQ(outputs("let %c = ref(%x); let %n = ref_write(%c, ROUNDED); (ref_read(%c), exp(%x))", 2),
            (Each{true, true}));
}

TEST(QuantisedOutputs, AreAllWhereTheirNumberIsNotKnown) {
  EXPECT_EQ(outputs("(%x, ROUNDED)", 3), (Each{true, true, true}));
}

// No recursion over the program, and no work at each output over all that is before it.
TEST(QuantisedOutputs, OfDeepProgramsAreFoundInOneWalk) {
  constexpr int kDeep = 5000;
  std::string body = "let %y0 = ROUNDED; let %z0 = %x;";
  std::string fields;
  for (int i = 0; i < kDeep; ++i) {
    body += cat("let %y", i + 1, " = exp(%y", i, "); let %z", i + 1, " = exp(%z", i, ");");
    fields += cat(i == 0 ? "" : ", ", "%y", i, ", %z", i);
  }
  const Each found = outputs(cat(body, "(", fields, ")"), 2 * kDeep);
  ASSERT_EQ(found.size(), size_t{2} * kDeep);
  for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i % 2 == 0) << i;
}

}  // namespace
}  // namespace relay::passes
