// Gradients against central differences, in the interpreter and in float64.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/testing.h"
#include "base/cat.h"
#include "interp/machine.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/gradient/testing.h"

namespace relay::passes {
namespace {

using analysis::testing::checked;
using gradient::testing::after;
using gradient::testing::arguments;
using gradient::testing::check_tangent;
using gradient::testing::checked_gradient;
using gradient::testing::is_straight;
using gradient::testing::run;
using gradient::testing::sum_of_floats;
using gradient::testing::tensors;

// A program and how it is differentiated.
struct Case {
  const char* name;
  const char* text;
  // Has the gradient no cell, no closure and no data type?
  bool straight;
};

class Gradients : public testing::TestWithParam<Case> {};

TEST_P(Gradients, AreThoseOfDifferences) {
  const Module m = checked(GetParam().text);
  const Result<Module> typed = after(m, "");
  ASSERT_TRUE(typed);
  const Module gradient = checked_gradient(*typed, 1e-6);
  EXPECT_EQ(is_straight(gradient), GetParam().straight);
}

TEST_P(Gradients, HaveGradients) {
  const Result<Module> typed = after(checked(GetParam().text), "");
  ASSERT_TRUE(typed);
  checked_gradient(*after(*typed, "gradient"), 1e-6);
}

TEST_P(Gradients, AgreeWithTangents) {
  const Result<Module> typed = after(checked(GetParam().text), "");
  ASSERT_TRUE(typed);
  check_tangent(*typed, 1e-6);
}

// Of the first and the second order: reverse after reverse, and reverse after forward.
TEST_P(Gradients, AgreeWithTangentsOfGradients) {
  const Result<Module> typed = after(checked(GetParam().text), "");
  ASSERT_TRUE(typed);
  for (const char* first : {"gradient", "forward-gradient"}) check_tangent(*after(*typed, first), 1e-6);
}

const Case kCases[] = {
    {"Square", "def @main(%x: float64) { multiply(%x, %x) }", true},
    {"Layers",
     R"(def @layer(%x: Tensor[(n, k), float64], %w: Tensor[(m, k), float64], %b: Tensor[(m), float64]) {
          tanh(add(nn.dense(%x, %w), %b))
        }
        def @main(%x: Tensor[(n, 2), float64], %w: Tensor[(4, 2), float64], %b: Tensor[(4), float64],
                  %v: Tensor[(2, 4), float64], %c: Tensor[(2), float64], %i: int32) {
          let %y = nn.log_softmax(@layer(@layer(%x, %w, %b), %v, %c));
          (sum(multiply(%y, %x)), %i)
        })",
     true},
    {"Losses",
     R"(import "training"
        def @main(%x: Tensor[(n, 4), float64], %y: Tensor[(n, 4), float64], %labels: Tensor[(n), int32]) {
          (@mean_squared_error(%x, %y), @cross_entropy(%x, %y), @cross_entropy_of_labels(%x, %labels),
           @clip_by_norm(@squared_norm(%y) * %x, 2f64))
        })",
     true},
    {"ConvolutionalNetwork",
     R"(import "training"
        def @main(%x: Tensor[(2, 2, 6, 6), float64], %k: Tensor[(3, 2, 3, 3), float64], %b: Tensor[(3), float64],
                  %l: Tensor[(2, 3, 3, 3), float64], %w: Tensor[(4, 8), float64], %labels: Tensor[(2), int32]) {
          let %y = nn.relu(nn.bias_add(nn.conv2d(%x, %k, padding=[1, 1]), %b) - 9f64);
          let %z = nn.conv2d(nn.avg_pool2d(%y, pool_size=[2, 2], strides=[2, 2]), %l, padding=[1, 1], strides=[2, 2]);
          @cross_entropy_of_labels(nn.dense(nn.batch_flatten(%z) * 0.01f64, %w), %labels)
        })",
     true},
    {"LongShortTermMemory",
     R"(import "training"
        def @go(%e: Tensor[(4, 3), float64], %u: Tensor[(8, 3), float64], %v: Tensor[(8, 2), float64],
                %h: Tensor[(2, 2), float64], %c: Tensor[(2, 2), float64], %i: int32, %sum: float64) -> float64 {
          if (%i == 3) { %sum } else {
            let %x = take(%e, strided_slice(tensor([[0, 1], [3, 0], [2, 2]], int32), begin=[0, 0], end=[1, 2]), axis=0);
            let %g = split(nn.dense(reshape(%x, newshape=[2, 3]), %u) + nn.dense(%h, %v), indices_or_sections=4, axis=1);
            let %d = sigmoid(%g.0) * %c + sigmoid(%g.1) * tanh(%g.2);
            let %k = sigmoid(%g.3) * tanh(%d);
            @go(%e, %u, %v, %k, %d, %i + 1, %sum + @squared_norm(%k))
          }
        }
        def @main(%e: Tensor[(4, 3), float64], %u: Tensor[(8, 3), float64], %v: Tensor[(8, 2), float64],
                  %h: Tensor[(2, 2), float64]) { @go(%e, %u, %v, %h, %h, 0, 0f64) })",
     false},
    {"Tuples",
     R"(def @swap(%p: (Tensor[(2), float64], (float64, int32))) { (%p.1, %p.0) }
        def @main(%p: (Tensor[(2), float64], (float64, int32))) {
          let %q = @swap(%p);
          let %parts = split(concatenate((%q.1, exp(%q.1)), axis=0), indices_or_sections=2, axis=0);
          (multiply(%parts.1, %q.0.0), %q.0.1)
        })",
     true},
    {"Branches",
     R"(def @f(%x: Tensor[(2), float64], %n: int32) {
          let %s = sum(%x);
          if (less(%n, 3)) {
            let %y = exp(%x);
            if (less(%s, 0f64)) { (%y, %s) } else { (multiply(%y, %x), multiply(%s, %s)) }
          } else { (%x, %s) }
        }
        def @main(%x: Tensor[(2), float64], %n: int32) {
          let %r = @f(multiply(%x, 2f64), %n);
          let %t = @f(%x, add(%n, 5));
          (multiply(%r.0, %t.0), %r.1)
        })",
     true},
    {"LocalFunctions",
     R"(def @main(%x: Tensor[(n), float64], %n: int32) {
          let %f = fn (%y: Tensor[(n), float64], %s: float64) {
            let %g = fn (%z: float64) { multiply(sum(%x), multiply(%z, %s)) };
            (multiply(%y, %g(%s)), %g(sum(%y)))
          };
          let %p = %f(sin(%x), 2f64);
          let %q = if (less(%n, 3)) { %f(%p.0, %p.1) } else { %p };
          multiply(%q.0, %q.1)
        })",
     true},
    {"LocalFunctionsThatStay",
     R"(def @main(%x: Tensor[(2), float64], %n: int32) {
          let %c = ref(%x);
          let %f = fn (%y: Tensor[(2), float64]) { multiply(%y, ref_read(%c)) };
          let %power = fn (%k: int32) -> Tensor[(2), float64] {
            if (equal(%k, 0)) { %x } else { multiply(%x, %power(subtract(%k, 1))) }
          };
          %f(%power(%n))
        })",
     false},
    {"UnknownExtents",
     R"(def @main(%x: Tensor[(?), float64], %y: Tensor[(n), float64]) {
          match_shape %z: Tensor[(m), float64] = multiply(%x, %x);
          let %s = nn.softmax(%z);
          (sum(multiply(%s, variance(%z, mean(%z)))), multiply(%y, %y))
        })",
     true},
    {"ClosuresAndCells",
     R"(def @main(%x: float64, %y: float64) -> float64 {
          let %f = fn (%a: float64) { multiply(%a, %x) };
          let %c = ref(sin(%x));
          ref_write(%c, add(%f(ref_read(%c)), %y));
          ref_write(%c, multiply(%f(ref_read(%c)), %y));
          %f(ref_read(%c))
        })",
     false},
    {"Recursion",
     R"(def @power(%x: Tensor[(2), float64], %n: int32) -> Tensor[(2), float64] {
          if (equal(%n, 0)) { ones_like(%x) } else { multiply(%x, @power(%x, subtract(%n, 1))) }
        }
        def @main(%x: Tensor[(2), float64], %n: int32) { @power(sin(%x), add(%n, 1)) })",
     false},
    {"Lists",
     R"(import "prelude"
        def @main(%x: Tensor[(2), float64]) {
          let %xs = Cons(%x, Cons(sin(%x), Cons(multiply(%x, 3f64), Nil)));
          let %ys = @map(fn (%a: Tensor[(2), float64]) { multiply(%a, %x) }, @map(tanh, %xs));
          @foldl(fn (%a: Tensor[(2), float64], %b: Tensor[(2), float64]) { multiply(add(%a, %b), %x) },
                 zeros_like(%x), %ys)
        })",
     false},
    {"Trees",
     R"(type Shape { Leaf(Tensor[(2), float64], int32), Node(Shape, Shape) }
        def @grow(%x: Tensor[(2), float64], %n: int32) -> Shape {
          if (equal(%n, 0)) { Leaf(%x, 2) }
          else { Node(@grow(multiply(%x, %x), subtract(%n, 1)), @grow(sin(%x), subtract(%n, 1))) }
        }
        def @total(%t: Shape) -> Tensor[(2), float64] {
          match (%t) {
            Leaf(%v, %k) => multiply(%v, cast(%k, dtype="float64")),
            Node(Leaf(%v, _), %r) => add(%v, @total(%r)),
            Node(%l, %r) => multiply(@total(%l), tanh(@total(%r)))
          }
        }
        def @main(%x: Tensor[(2), float64], %n: int32) { @total(@grow(%x, %n)) })",
     false},
    {"GenericFunctions",
     R"(def @twice[A](%f: fn(A) -> A, %x: A) -> A { %f(%f(%x)) }
        def @pair[A](%x: A) { (%x, %x) }
        def @scale[A, B where Broadcast(A, B, A)](%x: A, %y: B) -> A { multiply(%x, %y) }
        def @main(%x: Tensor[(2), float64], %y: float64, %n: int32) {
          let %p = @pair(@twice(fn (%a: Tensor[(2), float64]) { @scale(%a, %y) }, @scale(%x, %y)));
          (multiply(%p.0, %p.1), @twice(fn (%k: int32) { add(%k, 1) }, %n), @pair(@twice(sin, %y)).1)
        })",
     false},
    {"ExtentsInClosures",
     R"(def @main(%x: Tensor[(n), float64], %y: Tensor[(?), float64]) {
          let %f = fn (%a: Tensor[(m), float64]) { multiply(%a, concatenate((%x, %x))) };
          match_shape %z: Tensor[(k), float64] = multiply(%y, %y);
          let %v = nn.softmax(%z);
          (sum(%f(concatenate((%x, sin(%x))))), sum(multiply(%v, %z)))
        })",
     false},
    {"UnknownExtentsInCells",
     R"(def @f(%x: Tensor[(?), float64], %n: int32) -> Tensor[(?), float64] {
          if (equal(%n, 0)) { %x } else { @f(multiply(%x, %x), subtract(%n, 1)) }
        }
        def @main(%x: Tensor[(3), float64], %n: int32) {
          let %y: Tensor[(?), float64] = sin(%x);
          let %c = ref(%y);
          ref_write(%c, @f(%x, %n));
          sum(add(ref_read(%c), %y))
        })",
     false},
    {"Checkpoints",
     R"(def @main(%x: Tensor[(2), float64], %n: int32) {
          let %y = annotation.checkpoint(multiply(sin(%x), annotation.checkpoint(exp(tanh(%x)))));
          let %z = annotation.checkpoint(if (less(%n, 3)) { let %w = exp(%y); multiply(%w, %w) } else { %y });
          %0 = sin(%z);
          (annotation.checkpoint(multiply(%0, %x)), %0)
        })",
     true},
    {"CheckpointsInClosures",
     R"(def @power(%x: float64, %n: int32) -> float64 {
          if (equal(%n, 0)) { 1f64 } else {
            annotation.checkpoint(multiply(sin(%x), @power(%x, subtract(%n, 1))))
          }
        }
        def @main(%x: float64, %n: int32) {
          let %f = fn (%y: float64) { annotation.checkpoint(add(sin(%y), @power(%x, %n))) };
          let %c = ref(%f(%x));
          annotation.checkpoint({ let %d = ref(%x); ref_write(%d, exp(%x)); multiply(ref_read(%d), %x) })
        })",
     false},
    {"MainIsCalled",
     R"(def @other(%x: float64) -> float64 { @main(%x, 0) }
        def @main(%x: float64, %n: int32) -> float64 {
          if (equal(%n, 0)) { sin(%x) } else { multiply(%x, @main(multiply(%x, %x), subtract(%n, 1))) }
        })",
     false},
};

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// A program that is long, a straight line or not, and a run that goes deep.
TEST(DeepGradient, IsLinear) {
  constexpr int kDeep = 20'000;
  std::string lets;
  for (int i = 0; i < kDeep; ++i) lets += cat("let %x", i + 1, " = negative(%x", i, ");\n");
  const std::string last = cat("%x", kDeep);
  const std::string straight = cat("def @main(%x0: float64) {\n", lets, last, "\n}");
  const std::string closure =
      cat("def @main(%x0: float64) {\n", lets, "let %f = fn () { ", last, " }; let %g = %f; %g()\n}");
  const std::string recursion =
      cat("def @f(%x: float64, %n: int32) -> float64 {\n",
          "  if (equal(%n, 0)) { %x } else { negative(@f(%x, subtract(%n, 1))) }\n}\n",
          "def @main(%x: float64) { @f(%x, ", kDeep, ") }");
  for (const std::string& text : {straight, closure, recursion}) {
    const Result<Module> gradient = after(checked(text), "gradient");
    ASSERT_TRUE(gradient);
    const Value result = run(*gradient, {Value(Tensor::scalar(kFloat64, 3))});
    EXPECT_EQ(result.fields()[0].tensor().get(0), 3);
    EXPECT_EQ(result.fields()[1].fields()[0].tensor().get(0), 1);
    const Result<Module> forward = after(checked(text), "forward-gradient");
    ASSERT_TRUE(forward);
    const Value both =
        run(*forward, {Value(Tensor::scalar(kFloat64, 3)), Value(Tensor::scalar(kFloat64, 2))});
    EXPECT_EQ(both.fields()[0].tensor().get(0), 3);
    EXPECT_EQ(both.fields()[1].tensor().get(0), 2);
  }
}

// d(x^3) = 3 x^2, and the gradient of (x^3, (3 x^2,)) is 3 x^2 + 6 x.
TEST(GradientOfGradient, IsThatOfAPolynomial) {
  const Module m = checked("def @main(%x: float64) { multiply(%x, multiply(%x, %x)) }");
  const Value result = run(*after(m, "gradient,gradient"), {Value(Tensor::scalar(kFloat64, 2))});
  EXPECT_EQ(result.fields()[0].fields()[0].tensor().get(0), 8);
  EXPECT_EQ(result.fields()[0].fields()[1].fields()[0].tensor().get(0), 12);
  EXPECT_EQ(result.fields()[1].fields()[0].tensor().get(0), 24);
}

// fn(x, y) -> x^2 y^3: each gradient by itself, and its gradient.
TEST(GradientOfGradient, MayLeaveValuesAndParametersOut) {
  for (const char* text : {
           "def @main(%x: float64, %y: float64) { multiply(multiply(%x, %x), multiply(%y, multiply(%y, %y))) "
           "}",
           "def @main(%x: float64, %y: float64) { let %f = fn (%z: float64) { multiply(%z, %z) }; let %g = "
           "%f;"
           "  multiply(%g(%x), multiply(%y, %f(%y))) }",
       }) {
    const std::vector<Value> args{Value(Tensor::scalar(kFloat64, 2)), Value(Tensor::scalar(kFloat64, 3))};
    const Module m = checked(text);
    const Value wrt_y = run(*after(m, "gradient{wrt=2}"), args);
    ASSERT_EQ(wrt_y.fields()[1].fields().size(), 1u);
    EXPECT_EQ(wrt_y.fields()[1].fields()[0].tensor().get(0), 2 * 2 * 3 * 3 * 3);
    EXPECT_EQ(interp::show(run(*after(m, "gradient{wrt=y}"), args)), interp::show(wrt_y));
    const Value both = run(*after(m, "gradient{wrt=y+1}"), args);
    EXPECT_EQ(both.fields()[1].fields().size(), 2u);
    EXPECT_EQ(interp::show(both), interp::show(run(*after(m, "gradient"), args)));
    const Value twice = run(*after(m, "gradient{wrt=2,value=0},gradient{value=0,wrt=1}"), args);
    ASSERT_EQ(twice.fields().size(), 1u);
    EXPECT_EQ(twice.fields()[0].tensor().get(0), 2 * 2 * 3 * 3 * 3);
  }
}

// The oracle of the papers: nothing is left of the way forwards and back.
TEST(GradientOfIdentity, ReducesToOnes) {
  const Result<Module> now = after(checked("def @main(%d: Tensor[(2), float64]) { let %x = %d; %x }"),
                                   "gradient,inline-lets,dead-code");
  const auto* pair = now->function("main")->body->as<Tuple>();
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->fields[0], now->function("main")->params[0]);
  const auto* gradients = pair->fields[1]->as<Tuple>();
  ASSERT_NE(gradients, nullptr);
  const auto* ones = gradients->fields[0]->as<Call>();
  ASSERT_NE(ones, nullptr);
  EXPECT_EQ(op::callee(*ones)->name, "ones_like");
  EXPECT_EQ(ones->args[0], now->function("main")->params[0]);
}

// Each of many functions may be refused, and each message says how @main gets there.
TEST(RefusedGradient, ShowsTheLastCalls) {
  constexpr int kCalls = 12;
  std::string text = "def @main(%x: Tensor[(2), float32]) { @f1(%x) }\n";
  for (int i = 1; i < kCalls; ++i)
    text += cat("def @f", i, "(%x: Tensor[(2), float32]) { @f", i + 1, "(%x) }\n");
  text += cat("def @f", kCalls, "(%x: Tensor[(2), float32]) { cumprod(%x, axis=0) }\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(run_pipeline(checked(text), "gradient", {}, diagnostics).ok());
  ASSERT_TRUE(diagnostics.has_errors());
  const Diagnostic& d = diagnostics.all()[0];
  EXPECT_EQ(d.labels().size(), 8u);
  ASSERT_FALSE(d.notes().empty());
  EXPECT_NE(d.notes()[0].find("`@main -> ... -> @f4 -> @f5"), std::string::npos) << d.notes()[0];
  EXPECT_NE(d.notes()[0].find("-> @f12`"), std::string::npos) << d.notes()[0];
}

}  // namespace
}  // namespace relay::passes
