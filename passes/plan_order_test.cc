// Which lowered kernels may trap, and so keep the program's order in a memory plan.
#include "passes/plan_order.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "ir/traverse.h"
#include "op/operators.h"
#include "passes/runner.h"

namespace relay::passes {
namespace {

struct Counts {
  size_t kernels = 0, that_may_trap = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

// Lowers the program and counts the kernels that it calls.
Counts counts_of(std::string_view program) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  const Result<Module> parsed = parse("test", std::string(program), diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? run_pipeline(*parsed, default_pipeline(0), {}, diagnostics) : Result<Module>(kReported);
  EXPECT_TRUE(lowered.ok()) << diagnostics.render(parsing.into.context().sources());
  Counts out;
  if (!lowered) return out;
  for (Expr e : post_order(lowered->function("main"))) {
    const auto* call = e->as<Call>();
    const auto* global = call ? call->callee->as<Global>() : nullptr;
    const kernel::Kernel* k = global ? lowered->kernel(global->name.text()) : nullptr;
    if (!k) continue;
    ++out.kernels;
    out.that_may_trap += may_trap(*k) ? 1 : 0;
  }
  return out;
}

TEST(PlanOrder, OpenExtentsAreNoReasonToTrap) {
  EXPECT_EQ(counts_of("def @main(%x: Tensor[(n, m), float32]) {"
                      "  let %y = concatenate((%x, exp(%x)), axis=1);"
                      "  transpose(nn.matmul(%y, transpose(%y, axes=[1, 0])))"
                      "}"),
            (Counts{5, 0}));
}

TEST(PlanOrder, AnOperatorThatRequiresSomething) {
  EXPECT_EQ(counts_of("def @main(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) {"
                      "  add(divide(%x, %y), %x)"
                      "}"),
            (Counts{2, 1}));
}

// A kernel that reads `x` where the text says.
std::string reads_at(std::string_view index) {
  return cat(
      "kernel @at(x: float32[8], i: int64[4]) -> (y: float32[4]) {\n"
      "  for l in 4 {\n"
      "    block y {\n"
      "      spatial v in 4 = l;\n"
      "      reads x[0:8], i[v];\n"
      "      writes y[v];\n"
      "      y[v] = x[",
      index,
      "];\n"
      "    }\n"
      "  }\n"
      "}\n"
      "def @main(%x: Tensor[(8), float32], %i: Tensor[(4), int64]) { @at(%x, %i) }");
}

TEST(PlanOrder, AKernelOfTheProgramThatReadsWhereDataSays) {
  EXPECT_EQ(counts_of(reads_at("i[v]")), (Counts{1, 1})) << "`lower` has made its check explicit";
  EXPECT_EQ(counts_of(reads_at("v + 4")), (Counts{1, 0}));
}

}  // namespace
}  // namespace relay::passes
