// Functions for the code generator `dnnl` on the engines: oneDNN computes what the bodies say.
#include "driver/code_of_others.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/testing.h"
#include "base/cat.h"
#include "driver/driver.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"

namespace relay::driver {
namespace {

using analysis::testing::checked;

Module partitioned(const std::string& text) {
  Diagnostics diagnostics;
  const Result<Module> out = passes::run_pipeline(checked(text), "partition-dnnl", {}, diagnostics);
  EXPECT_TRUE(out) << diagnostics.render({});
  return out ? *out : Module();
}

// Eighths between -1 and 1, so that sums cancel.
std::vector<Value> arguments(const Fn& fn) {
  std::vector<Value> out;
  uint32_t state = 7;
  for (const Var* x : fn.params) {
    Tensor t(kFloat32, *x->type->as<TensorType>()->static_shape());
    for (int64_t i = 0; i < t.size(); ++i) {
      state = state * 1664525 + 1013904223;
      t.set(i, static_cast<double>(static_cast<int64_t>((state >> 20) % 17) - 8) / 8);
    }
    out.emplace_back(t);
  }
  return out;
}

size_t functions_for_dnnl(const Module& m) {
  return static_cast<size_t>(std::count_if(m.functions().begin(), m.functions().end(), [](const auto& f) {
    return f.second->attrs.find("Compiler") != nullptr;
  }));
}

// Every engine that has the code agrees with the interpreter, which runs bodies; and it is the code
// that runs.
void agrees(const std::string& text, size_t functions) {
  SCOPED_TRACE(text);
  const Module m = partitioned(text);
  ASSERT_EQ(functions_for_dnnl(m), functions);
  Model model;
  model.module = m;
  model.function = "main";
  for (const VerifyRow& row : verify(model, arguments(*m.function("main")),
                                     {.engines = {"jit", "graph", "aot-cpp"}, .levels = {2}})) {
    EXPECT_EQ(row.verdict(), Verdict::kAgrees) << row.label() << ": " << row.trouble();
    EXPECT_EQ(row.weaker, "") << row.label();
  }
  const Prepared graph = find_engine("graph")->prepare(m, "main", {});
  ASSERT_TRUE(graph.executor) << graph.skipped;
  size_t external = 0;
  for (const passes::PlanStep& step : graph.executor->plan().steps)
    external += step.kernel && step.kernel->external;
  EXPECT_GE(external, functions);
}

TEST(CodeOfOthers, Products) {
  agrees("def @main(%x: Tensor[(5, 7), float32], %w: Tensor[(6, 7), float32]) { nn.dense(%x, %w) }", 1);
  agrees(
      "def @main(%x: Tensor[(5, 7), float32], %w: Tensor[(6, 7), float32], %b: Tensor[(6), float32]) {\n"
      "  nn.relu(nn.dense(%x, %w) + %b)\n}",
      1);
  agrees(
      "def @main(%x: Tensor[(7, 5), float32], %w: Tensor[(7, 6), float32], %b: Tensor[(1, 6), float32]) {\n"
      "  %b + nn.matmul(%x, %w, transpose_a=True)\n}",
      1);
  agrees(
      "def @main(%x: Tensor[(3, 5, 7), float32], %y: Tensor[(3, 6, 7), float32]) {\n"
      "  nn.relu(nn.batch_matmul(%x, %y, transpose_b=True))\n}",
      1);
  agrees(
      "def @main(%x: Tensor[(2, 5, 7), float32], %y: Tensor[(2, 7, 6), float32]) {\n"
      "  nn.batch_matmul(%x, %y)\n}",
      1);
}

TEST(CodeOfOthers, Convolutions) {
  const std::string head = "def @main(%x: Tensor[(2, 8, 9, 7), float32], %w: Tensor[(12, 8, 3, 2), float32]";
  agrees(head + ") { nn.conv2d(%x, %w, padding=[1, 0, 2, 1], strides=[2, 1], dilation=[1, 2]) }", 1);
  agrees(head + ", %b: Tensor[(12), float32]) { nn.relu(nn.bias_add(nn.conv2d(%x, %w), %b)) }", 1);
  agrees(head + ", %b: Tensor[(12, 1, 1), float32]) { nn.conv2d(%x, %w) + %b }", 1);
  agrees(
      "def @main(%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(16, 4, 3, 3), float32]) {\n"
      "  nn.relu(nn.conv2d(%x, %w, groups=2, padding=[1, 1]))\n}",
      1);
  agrees(
      "def @main(%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 1, 3, 3), float32]) {\n"
      "  nn.conv2d(%x, %w, groups=8, padding=[1, 1])\n}",
      1);
}

TEST(CodeOfOthers, StepsOfOneFunctionPassTheirResultsOn) {
  agrees(
      "def @main(%x: Tensor[(1, 4, 8, 8), float32], %u: Tensor[(8, 4, 3, 3), float32],\n"
      "          %v: Tensor[(4, 8, 1, 1), float32], %w: Tensor[(3, 144), float32]) {\n"
      "  %0 = nn.conv2d(nn.relu(nn.conv2d(%x, %u)), %v);\n"
      "  tanh(nn.dense(nn.batch_flatten(%0), %w))\n}",
      2);
}

// A step that is called again finds its memory, whatever the run before left there.
TEST(CodeOfOthers, RunsFollowFromTheirArgumentsAlone) {
  const Module m = partitioned(
      "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32]) {\n"
      "  nn.conv2d(%x, %w)\n}");
  const std::vector<Value> first = arguments(*m.function("main")), second = {first[0], first[1]};
  for (const std::string_view engine : {"graph", "aot-cpp"}) {
    const Prepared p = find_engine(engine)->prepare(m, "main", {});
    ASSERT_TRUE(p.run) << p.skipped;
    const Value before = p.run(first).value;
    std::vector<Value> zero = first;
    zero[1] = Value(Tensor(kFloat32, {16, 3, 3, 3}));
    EXPECT_EQ(p.run(zero).value.tensor().get(0), 0) << engine;
    const Value after = p.run(second).value;
    for (int64_t i = 0; i < before.tensor().size(); ++i)
      ASSERT_EQ(before.tensor().get(i), after.tensor().get(i)) << engine << " at " << i;
  }
}

TEST(CodeOfOthers, WhatNoGeneratorTakesRunsByItsBody) {
  const std::string call = "def @main(%x: Tensor[(2), float32]) { @f(%x) }\n";
  const struct {
    std::string function, why;
  } cases[] = {
      {"def @f(%x: Tensor[(2), float32], Compiler=\"dnnl\") { tanh(%x) }",
       "gives something else than a composite"},
      {"def @f(%x: Tensor[(2), float32], Compiler=\"dnnl\") { fn (%y: Tensor[(2), float32], "
       "Composite=\"dnnl.tanh\") { tanh(%y) }(%x) }",
       "`tanh`"},
      {"def @f(%x: Tensor[(2), float32], Compiler=\"dnl\") { exp(%x) }", "did you mean `dnnl`?"},
      {"def @f(%x: Tensor[(2), float32], Compiler=\"dnnl\") { (%x, %x) }", "tensors of constant shapes"},
      {"def @f(%x: Tensor[(2), float32], Compiler=3) { exp(%x) }", "its attribute `Compiler` is no text"},
  };
  for (const auto& [function, why] : cases) {
    const Module m = checked(call + function);
    for (const std::string_view engine : {"graph", "aot-cpp"}) {
      const Prepared p = find_engine(engine)->prepare(m, "main", {});
      ASSERT_TRUE(p.run) << engine << p.skipped;
      ASSERT_EQ(p.refusal.all().size(), 1u) << function;
      EXPECT_FALSE(p.refusal.has_errors());
      EXPECT_NE(p.refusal.all()[0].message().find("@f runs by its body: "), std::string::npos);
      EXPECT_NE(p.refusal.all()[0].message().find(why), std::string::npos) << p.refusal.all()[0].message();
      EXPECT_EQ(p.run(arguments(*m.function("main"))).kind, Outcome::Kind::kValue);
    }
  }
}

TEST(CodeOfOthers, TheEntryIsABody) {
  const Module m = checked(
      "def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(1, 2), float32], Compiler=\"dnnl\") {\n"
      "  fn (%a: Tensor[(1, 2), float32], %b: Tensor[(1, 2), float32], Composite=\"dnnl.dense\") {\n"
      "    nn.dense(%a, %b)\n  }(%x, %w)\n}");
  aot::ExternalCode code;
  Diagnostics kept;
  EXPECT_TRUE(with_code_of_others(m, "main", code, kept).same(m));
  EXPECT_TRUE(code.empty());
  ASSERT_EQ(kept.all().size(), 1u);
  EXPECT_NE(kept.all()[0].message().find("the program begins with it"), std::string::npos);
}

TEST(CodeOfOthers, AProgramWithoutThemIsLeftAlone) {
  const Module m = checked("def @main(%x: Tensor[(2), float32]) { exp(%x) }");
  aot::ExternalCode code;
  Diagnostics kept;
  EXPECT_TRUE(with_code_of_others(m, "main", code, kept).same(m));
  EXPECT_TRUE(code.empty() && kept.all().empty());
}

// A body has a gradient; a C function has none.
TEST(CodeOfOthers, GradientsAreOfBodies) {
  const Module m = checked(
      "def @f(%x: Tensor[(1, 2), float32], %w: Tensor[(1, 2), float32], Compiler=\"dnnl\") {\n"
      "  fn (%a: Tensor[(1, 2), float32], %b: Tensor[(1, 2), float32], Composite=\"dnnl.dense\") {\n"
      "    nn.dense(%a, %b)\n  }(%x, %w)\n}\n"
      "def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(1, 2), float32]) { grad(@f)(%x, %w) }");
  for (const std::string_view engine : {"interp", "aot-cpp"}) {
    const Prepared p = find_engine(engine)->prepare(m, "main", {});
    ASSERT_TRUE(p.run) << engine << ": " << p.skipped;
    EXPECT_EQ(p.run(arguments(*m.function("main"))).kind, Outcome::Kind::kValue) << engine;
  }
}

}  // namespace
}  // namespace relay::driver
