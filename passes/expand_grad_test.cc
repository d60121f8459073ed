// What a program says to its gradient, and what is left of one after other passes.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/testing.h"
#include "base/cat.h"
#include "op/registry.h"
#include "passes/expand_grad.h"
#include "passes/gradient/testing.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;
using gradient::testing::after;
using gradient::testing::is_straight;
using gradient::testing::run;
using gradient::testing::sum_of_floats;

size_t calls_of(const Module& m, std::string_view op) {
  size_t count = 0;
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) count += op::callee(e) && op::callee(e)->name == op ? 1 : 0;
  }
  return count;
}

// sin(tanh(x)) needs tanh(x) on the way back. It is kept, or computed again.
TEST(Checkpoint, IsComputedAgain) {
  const char* pipeline = "gradient,inline,inline-lets,dead-code";
  const Module kept = *after(checked("def @main(%x: float64) { exp(sin(tanh(%x))) }"), pipeline);
  const Module again =
      *after(checked("def @main(%x: float64) { exp(annotation.checkpoint(sin(tanh(%x)))) }"), pipeline);
  EXPECT_EQ(calls_of(kept, "tanh"), 1u);
  EXPECT_EQ(calls_of(again, "tanh"), 2u);
}

// A tuple, too. A list has no adjoint, and is kept.
TEST(Checkpoint, IsOfAnyType) {
  const auto tanhs = [](std::string_view body) {
    const Module m = checked(cat("import \"prelude\"\n def @main(%x: float64) { ", body, " }"));
    const Module gradient = *after(m, "gradient,inline,inline-lets,dead-code");
    const Value x(Tensor::scalar(kFloat64, 0.5));
    const double back = run(gradient, {x}).fields()[1].fields()[0].tensor().get(0);
    EXPECT_NEAR(back, std::cos(std::tanh(0.5)) * (1 - std::tanh(0.5) * std::tanh(0.5)), 1e-12) << body;
    return calls_of(gradient, "tanh");
  };
  EXPECT_EQ(tanhs("let %p = (sin(tanh(%x)), 1f64); multiply(%p.0, %p.1)"), 1u);
  EXPECT_EQ(tanhs("let %p = annotation.checkpoint((sin(tanh(%x)), 1f64)); multiply(%p.0, %p.1)"), 2u);
  EXPECT_EQ(tanhs("match (annotation.checkpoint(Cons(sin(tanh(%x)), Nil))) { Cons(%y, _) => %y, Nil => %x }"),
            1u);
}

TEST(StoppedGradient, GoesNoFurther) {
  for (const char* text : {
           "def @main(%x: float64) { multiply(%x, stop_gradient(multiply(%x, %x))) }",
           "def @main(%x: float64) { let %f = fn (%y: float64) { stop_gradient(multiply(%y, %x)) };"
           "  multiply(%x, %f(%x)) }",
       }) {
    const Value x(Tensor::scalar(kFloat64, 3));
    const Value back = run(*after(checked(text), "gradient"), {x});
    EXPECT_EQ(back.fields()[1].fields()[0].tensor().get(0), 9);
    EXPECT_EQ(run(*after(checked(text), "forward-gradient"), {x, x}).fields()[1].tensor().get(0), 27);
  }
}

// The gradients that the programs name are not those of differences, so that they can be told.
TEST(OwnGradient, TakesThePlaceOfTheRule) {
  const std::string own = R"(import "prelude"
    def @f(%x: float64, %y: float64, Gradient="back") -> float64 { multiply(round(%x), %y) }
    def @back(%x: float64, %y: float64, %dz: float64) { (multiply(%dz, 7f64), multiply(%dz, %x)) }
    def @g(%x: float64, Gradient="g_back") -> float64 { sum(cumprod(reshape(%x, newshape=[1]), axis=0)) }
    def @g_back(%x: float64, %dy: float64) { (multiply(%dy, 5f64),) }
  )";
  const char* mains[] = {
      "def @main(%x: float64) { multiply(@f(%x, %x), 2f64) }",
      "def @main(%x: float64) { let %h = fn (%y: float64) { @f(%y, %x) }; multiply(%h(%x), 2f64) }",
  };
  const Value x(Tensor::scalar(kFloat64, 3));
  for (const char* text : mains) {
    const Value result = run(*after(checked(own + text), "gradient"), {x});
    EXPECT_EQ(result.fields()[0].tensor().get(0), 18);
    EXPECT_EQ(result.fields()[1].fields()[0].tensor().get(0), 2 * (7 + 3));
  }
  const Module values = checked(own + "def @main(%x: float64) { @foldl(@f, %x, @map(@g, Cons(%x, Nil))) }");
  EXPECT_EQ(run(*after(values, "gradient"), {x}).fields()[1].fields()[0].tensor().get(0), 7 + 5 * 3);
  const Module called = checked(own + "def @main(%x: float64) { grad(@g)(%x) }");
  EXPECT_EQ(run(*after(called, "expand-grad"), {x}).fields()[1].fields()[0].tensor().get(0), 5);
}

// Nodes that the pass makes for so many function expressions that take `grad`.
uint32_t nodes_made(int functions, std::string_view inside) {
  std::string text =
      "def @power(%x: float64, %n: int32) -> float64 {\n"
      "  if (equal(%n, 0)) { 1f64 } else { multiply(%x, @power(%x, subtract(%n, 1))) }\n}\n"
      "def @main(%x: float64) {\n";
  std::string sum = "%x";
  for (int i = 0; i < functions; ++i) {
    text += cat("  let %y", i, " = grad(fn (%z: float64) { ", inside, " })(%x).1.0;\n");
    sum = cat("add(", sum, ", %y", i, ")");
  }
  const Module m = checked(cat(text, "  ", sum, "\n}\n"));
  const uint32_t before = m.context().node_count();
  const Result<Module> out = after(m, "expand-grad");
  EXPECT_TRUE(out);
  return m.context().node_count() - before;
}

// Twice as many functions, twice as much work: what they reach is differentiated once.
TEST(ExpandGrad, IsLinearInTheNumberOfFunctions) {
  for (const char* inside : {"multiply(%z, sin(%x))", "@power(multiply(%z, %x), 3)"}) {
    const uint32_t few = nodes_made(20, inside), many = nodes_made(80, inside);
    EXPECT_LT(many, 4.4 * few) << inside;
  }
}

// A tuple of one tuple twice, and that 22 times: of its 2^23 tensors one is asked for.
TEST(SharedTuples, StayShared) {
  std::string text = "def @main(%x: float64, %n: int32) {\n  let %t0 = (%x, sin(%x));\n";
  std::string fields = ".1";
  for (int i = 0; i < 22; ++i) {
    const std::string pair = cat("(%t", i, ", %t", i, ")");
    text += cat("  let %t", i + 1, " = if (less(%n, ", i, ")) { ", pair, " } else { let %s", i, " = ", pair,
                "; %s", i, " };\n");
    fields += i % 2 ? ".0" : ".1";
  }
  const Module m = checked(cat(text, "  %t22", fields.substr(2), fields.substr(0, 2), "\n}"));
  const Result<Module> gradient = after(m, "gradient");
  ASSERT_TRUE(gradient);
  EXPECT_LT(post_order(gradient->function("main")).size(), 2000u);
  const Value result = run(*gradient, {Value(Tensor::scalar(kFloat64, 0)), Value(Tensor::scalar(kInt32, 9))});
  EXPECT_EQ(result.fields()[1].fields()[0].tensor().get(0), 1);

  Diagnostics diagnostics;
  EXPECT_FALSE(run_pipeline(checked(text + "  %t22\n}"), "gradient", {}, diagnostics).ok());
  ASSERT_TRUE(diagnostics.has_errors());
  EXPECT_NE(diagnostics.all()[0].message().find("more than 65536 tensors"), std::string::npos);
}

// No cell, no closure and no data type is left where the program's recursion has an end that is
// known. Local functions that are only called leave none in the first place.
TEST(GradientOfFirstOrder, HasNoCellsAfterPartialEvaluation) {
  const char* texts[] = {
      R"(def @power(%x: float64, %n: int32) -> float64 {
           if (equal(%n, 0)) { 1f64 } else { multiply(%x, @power(%x, subtract(%n, 1))) }
         }
         def @main(%x: float64) { @power(sin(%x), 4) })",
      R"(import "prelude"
         def @total(%xs: List[float64]) -> float64 {
           match (%xs) { Nil => 0f64, Cons(%x, %rest) => add(multiply(%x, %x), @total(%rest)) }
         }
         def @main(%x: float64) { @total(Cons(%x, Cons(sin(%x), Nil))) })",
      "def @main(%x: float64) { let %c = ref(%x); ref_write(%c, sin(%x)); multiply(ref_read(%c), %x) }",
      "def @main(%x: float64) { let %f = fn (%y: float64) { multiply(%y, %x) }; let %g = %f; %g(%f(%x)) }",
  };
  const char* local[] = {
      "def @main(%x: float64) { let %f = fn (%y: float64) { multiply(%y, %x) }; %f(%f(%x)) }",
      R"(def @main(%x: float64) {
           let %f = fn (%z: float64) { let %g = fn (%y: float64) { multiply(%y, %x) }; %g(exp(%z)) };
           add(%f(multiply(%x, %x)), if (less(%x, 0f64)) { %x } else { tanh(%f(%x)) })
         })",
      R"(def @f(%x: float64) { let %h = fn (%z: float64) { sin(%z) }; %h(%h(%x)) }
         def @main(%x: float64) { let %v = grad(@f)(%x); if (less(%v.0, 0f64)) { %x } else { %v.1.0 } })",
  };
  for (const char* text : local) {
    const Result<Module> gradient = after(checked(text), "expand-grad,gradient,dead-code");
    ASSERT_TRUE(gradient);
    EXPECT_TRUE(is_straight(*gradient)) << text;
  }
  for (const char* text : texts) {
    const Module m = checked(text);
    const Result<Module> gradient = after(m, "gradient"),
                         residual = after(m, "gradient,partial-evaluation,dead-code");
    ASSERT_TRUE(gradient && residual);
    EXPECT_FALSE(is_straight(*gradient)) << text;
    EXPECT_TRUE(is_straight(*residual)) << text;
    const Value x(Tensor::scalar(kFloat64, 0.7));
    EXPECT_EQ(sum_of_floats(run(*residual, {x})), sum_of_floats(run(*gradient, {x})));
  }
}

// It takes no round, and no time, to see that so many derivatives are too many.
TEST(ExpandGrad, AnOrderThatNoLimitAllowsIsRefusedAtOnce) {
  const auto refusal = [](size_t order) {
    std::string function = "@f";
    for (size_t i = 0; i < order; ++i) function = cat("grad(", function, ")");
    Diagnostics diagnostics;
    const Module m =
        checked(cat("def @f(%x: float32) { sin(%x) }\ndef @main(%x: float32) { ", function, "(%x) }"));
    EXPECT_FALSE(without_grad(m, diagnostics));
    return diagnostics.render(m.context().sources());
  };
  EXPECT_NE(refusal(365).find("a derivative of an order above 364 [limit-nodes]"), std::string::npos);
  EXPECT_NE(refusal(364).find("the programs of the derivatives up to order"), std::string::npos);
}

}  // namespace
}  // namespace relay::passes
