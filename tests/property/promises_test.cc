// The conditions that passes promise can fail: programs that break them, which the passes mend.
#include "tests/property/promises.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "base/cat.h"
#include "passes/runner.h"

namespace relay::property {
namespace {

using analysis::testing::checked;

struct Case {
  std::string_view pass, body;  // of a function of %x: Tensor[(2, 3), float32]
};

constexpr Case kBroken[] = {
    {"canonicalise-casts", "cast(%x, dtype=\"float32\")"},
    {"canonicalise-ops", "nn.bias_add(%x, tensor([1, 2, 3], float32))"},
    {"dead-code", "let %y = tanh(%x); %x"},
    {"divide-to-multiply", "divide(%x, 2f)"},
    {"eta-expand",
     "let %f = fn (%g: fn(Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32]) { %g(%x) }; %f(tanh)"},
    {"expand-operators", "nn.dropout(%x).0"},
    {"fast-math", "exp(%x)"},
    {"fold-constants", "add(%x, multiply(2f, 3f))"},
    {"lambda-lift", "let %f = fn (%y: Tensor[(2, 3), float32]) { add(%y, %x) }; %f(%x)"},
    {"lower", "(fn (%y: Tensor[(2, 3), float32], Primitive=1) { tanh(%y) })(%x)"},
    {"simplify-inference", "nn.dropout(%x).0"},
    {"split-args", "concatenate((%x, %x, %x))"},
    {"to-a-normal-form", "tanh(exp(%x))"},
    {"to-basic-block-form", "%0 = tanh(%x); if (True) { add(%0, 1f) } else { let %f = fn () { %0 }; %f() }"},
    {"to-graph-normal-form", "let %y = tanh(%x); %y"},
    {"widen-floats", "tanh(%x)"},
};

TEST(Promises, ArePossibleToBreak) {
  for (const auto& [pass, body] : kBroken) {
    const Module before = checked(cat("def @main(%x: Tensor[(2, 3), float32]) { ", body, " }"));
    EXPECT_NE(broken_promise(pass, before, before), "") << pass;
    Diagnostics diagnostics;
    const std::string step = pass == "split-args" ? cat(pass, "{most=", kMostArgs, "}") : std::string(pass);
    const Result<Module> after = passes::run_pipeline(before, step, {}, diagnostics);
    ASSERT_TRUE(after) << pass << diagnostics.render(before.context().sources());
    EXPECT_EQ(broken_promise(pass, before, *after), "") << pass;
  }
}

// A function that @main does not reach is dead, too; a let that is noticed is not.
TEST(Promises, DeadCodeIsFunctionsToo) {
  const Module dead = checked("def @f(%x: int32) { %x }\ndef @main(%x: int32) { %x }");
  EXPECT_NE(broken_promise("dead-code", dead, dead), "");
  const Module noticed = checked("def @main(%x: int32) { let %y = 7 / %x; %x }");
  EXPECT_EQ(broken_promise("dead-code", noticed, noticed), "");
}

TEST(Promises, AreOfPassesThatExist) {
  for (const std::string_view pass : passes_with_promises())
    EXPECT_NE(passes::find_pass(pass), nullptr) << pass;
}

TEST(Promises, OfOtherPassesAreNotAsked) {
  const Module m = checked("def @main(%x: float32) { exp(%x) }");
  EXPECT_EQ(broken_promise("hoist-invariants", m, m), "");
  EXPECT_TRUE(settles("fuse"));
  EXPECT_FALSE(settles("gradient"));
}

}  // namespace
}  // namespace relay::property
