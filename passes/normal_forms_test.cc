// What the passes for normal forms promise, on programs that break each condition.
#include "passes/normal_forms.h"

#include <gtest/gtest.h>

#include "analysis/testing.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;

Module after(std::string_view pass, const Module& m) {
  Diagnostics diagnostics;
  const Result<Module> out = run_pipeline(m, pass, {}, diagnostics);
  EXPECT_TRUE(out.ok()) << diagnostics.render(m.context().sources());
  return out ? *out : m;
}

struct Case {
  std::string_view pass;
  std::string (*breaks)(const Module&);
  std::string_view program, wrong;
};

const Case kCases[] = {
    {"to-a-normal-form", breaks_a_normal_form, "def @main(%x: float32) { exp(abs(%x)) }",
     "an operand has no name"},
    {"to-a-normal-form", breaks_a_normal_form,
     "def @main(%x: float32) { let %y = { let %z = abs(%x); exp(%z) }; tanh(%y) }",
     "a let stands in the value of a let"},
    {"to-a-normal-form", breaks_a_normal_form,
     "def @main(%c: bool, %x: float32) { %0 = abs(%x); if (%c) { %0 } else { %0 } }",
     "an evaluation is shared"},
    {"to-basic-block-form", breaks_basic_block_form,
     "def @main(%c: bool, %x: float32) { %0 = abs(%x); if (%c) { add(%0, %0) } else { 1f } }", ""},
    {"to-basic-block-form", breaks_basic_block_form,
     "def @main(%c: bool, %x: float32) { %0 = abs(%x); if (%c) { exp(%0) } else { tanh(%0) } }",
     "an expression is evaluated outside"},
    {"to-graph-normal-form", breaks_graph_normal_form, "def @main(%x: float32) { let %y = abs(%x); exp(%y) }",
     "a let is needless"},
    {"to-graph-normal-form", breaks_graph_normal_form,
     "def @main(%r: ref(float32)) { let %y = ref_read(%r); let %w = ref_write(%r, 1f); %y }", ""},
    {"eta-expand", breaks_eta_expansion,
     "def @f(%x: float32) { exp(%x) } def @g(%h: fn(float32) -> float32) { %h(1f) } def @main() { @g(@f) }",
     "a function is a value"},
};

TEST(NormalForms, ConditionsFindWhatThePassesMend) {
  for (const Case& c : kCases) {
    const Module m = checked(c.program);
    const std::string found = c.breaks(m);
    EXPECT_TRUE(c.wrong.empty() ? found.empty() : found.find(c.wrong) != std::string::npos)
        << c.program << "\n"
        << found;
    EXPECT_EQ(c.breaks(after(c.pass, m)), "") << c.program;
    EXPECT_EQ(after(c.pass, m).same(m), c.wrong.empty()) << c.program;
  }
}

}  // namespace
}  // namespace relay::passes
