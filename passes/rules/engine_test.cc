#include "passes/rules/engine.h"

#include <gtest/gtest.h>

#include <ctime>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "op/ops.h"
#include "typecheck/check.h"

namespace relay::passes::rules {
namespace {

Module typed(const std::string& text) {
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("test", text, diagnostics, op::operators(), options);
  EXPECT_TRUE(m.ok()) << text << diagnostics.render(options.into.context().sources());
  if (!m) return {};
  const Result<Module> checked = typecheck::check(*m, diagnostics);
  EXPECT_TRUE(checked.ok()) << text << diagnostics.render(options.into.context().sources());
  return checked ? *checked : *m;
}

std::string show(const Module& m) { return op::text_of(m); }

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = all_rules();
  return all;
}

void expect(const std::string& before, const std::string& after, const Options& options = {}) {
  const Module m = typed(before);
  Report report;
  const Module now = simplify(m, rules(), options, report);
  EXPECT_EQ(show(now), show(typed(after))) << before;
  EXPECT_FALSE(report.out_of_budget);
  // A second time finds nothing, and gives back what it was given.
  EXPECT_TRUE(simplify(now, rules(), options, report).same(now)) << before;
}

TEST(Engine, GoesOnUntilNothingApplies) {
  expect("def @main(%x: Tensor[(n, 4), int32]) { add(add(multiply(%x, 1), 2), 3) }",
         "def @main(%x: Tensor[(n, 4), int32]) { add(%x, 5) }");
  expect("def @main(%x: Tensor[(n, 4), float32]) { nn.relu(transpose(transpose(%x))) }",
         "def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }");
  expect(
      "def @main(%x: Tensor[(n, 4), int8]) "
      "{ cast(add(cast(%x, dtype=\"int32\"), cast(%x, dtype=\"int32\")), dtype=\"int8\") }",
      "def @main(%x: Tensor[(n, 4), int8]) { add(%x, %x) }");
}

TEST(Engine, WhatIsSharedStaysShared) {
  expect("def @main(%x: Tensor[(4), int32]) { %0 = exp(cast(add(%x, 0), dtype=\"float32\")); (%0, %0) }",
         "def @main(%x: Tensor[(4), int32]) { %0 = exp(cast(%x, dtype=\"float32\")); (%0, %0) }");
}

TEST(Engine, UnchangedIsTheSameModule) {
  const Module m =
      typed("def @main(%x: Tensor[(n), int32], %y: Tensor[(m), int32]) { add(%x, negative(%y)) }");
  Report report;
  EXPECT_TRUE(simplify(m, rules(), {}, report).same(m));
  EXPECT_TRUE(report.applied.empty());
}

TEST(Engine, BoundedRulesAreAskedFor) {
  const std::string text = "def @main(%x: Tensor[(n, 4), float32]) { add(add(%x, 1f), 2f) }";
  expect(text, text);
  expect(text, "def @main(%x: Tensor[(n, 4), float32]) { add(%x, 3f) }", {.bounded = true});
}

// Division by zero traps, and may be neither dropped nor exchanged with another one.
TEST(Engine, TrapsStay) {
  const std::string dropped =
      "def @main(%x: Tensor[(4), int32]) { multiply(divide(%x, %x), tensor([1, 1, 1, 1], int32)) }";
  expect(dropped, "def @main(%x: Tensor[(4), int32]) { divide(%x, %x) }");
  const std::string absorbed =
      "def @main(%x: Tensor[(4), int32]) { bitwise_or(%x, bitwise_and(%x, divide(3, %x))) }";
  expect(absorbed, absorbed);
  const std::string exchanged =
      "def @main(%x: Tensor[(4), int32], %y: Tensor[(4), int32])"
      " { negative(subtract(divide(%x, %y), mod(%y, %x))) }";
  expect(exchanged, exchanged);
}

TEST(Engine, EffectsStay) {
  const std::string dropped =
      "def @main(%x: Tensor[(4), int32]) { let %r = ref(%x);"
      " bitwise_or(%x, bitwise_and(%x, { ref_write(%r, %x); ref_read(%r) })) }";
  // The write stands in a let, which is no input that may be dropped.
  const Module m = typed(dropped);
  Report report;
  EXPECT_TRUE(simplify(m, rules(), {}, report).same(m));
}

TEST(Engine, ABudgetEndsIt) {
  const Module m = typed("def @main(%x: Tensor[(n), int32]) { negative(negative(negative(negative(%x)))) }");
  Report report;
  const Module now = simplify(m, rules(), {.budget = 1}, report);
  EXPECT_TRUE(report.out_of_budget);
  EXPECT_EQ(show(now), show(typed("def @main(%x: Tensor[(n), int32]) { negative(negative(%x)) }")));
}

// --- size ----------------------------------------------------------------------------------------

constexpr int kMany = 100'000;

double seconds_for(const Module& m, size_t& applied, Module& now) {
  Report report;
  const std::clock_t begin = std::clock();  // of the processor: others may be using the machine
  now = simplify(m, rules(), {.bounded = true}, report);
  const double s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_FALSE(report.out_of_budget);
  applied = 0;
  for (const auto& [name, count] : report.applied) applied += count;
  return s;
}

// A chain of calls, each of which `link` makes of the last.
template <class Link>
Module chain(Link&& link) {
  Module m = typed("def @main(%x: Tensor[(4, 4), int32]) { %x }");
  Builder b(m.context());
  const Fn* main = m.function("main");
  Expr e = main->params[0];
  for (int i = 0; i < kMany; ++i) e = link(b, e, i);
  m.set_function("main", b.fn(std::vector<const Var*>{main->params[0]}, e)->as<Fn>());
  Diagnostics diagnostics;
  return *typecheck::check(m, diagnostics);
}

TEST(Engine, ManyExpressions) {
  const auto call = [](Builder& b, const op::OpDef& op, std::initializer_list<Expr> args) {
    return b.call(b.op(op), args);
  };
  struct Case {
    const char* what;
    Module m;
    size_t least;  // rules that apply
  };
  const Case cases[] = {
      {"sums of constants",
       chain([&](Builder& b, Expr e, int i) { return call(b, op::kAdd, {e, b.scalar(kInt32, i % 7)}); }),
       kMany - 1},
      {"transpositions", chain([&](Builder& b, Expr e, int) { return call(b, op::kTranspose, {e}); }),
       kMany / 2},
      {"nothing to do", chain([&](Builder& b, Expr e, int i) {
         return i % 2 ? call(b, op::kAdd, {e, e}) : call(b, op::kMultiply, {e, e});
       }),
       0},
      {"negations and sums", chain([&](Builder& b, Expr e, int i) {
         return i % 2 ? call(b, op::kNegative, {e}) : call(b, op::kSubtract, {e, b.scalar(kInt32, 3)});
       }),
       kMany / 4},
  };
  for (const Case& c : cases) {
    size_t applied = 0;
    Module now;
    const double s = seconds_for(c.m, applied, now);
    std::printf("%s: %d expressions, %zu rules applied, %.2f s\n", c.what, kMany, applied, s);
    EXPECT_LT(s, 3.0) << c.what;
    EXPECT_GE(applied, c.least) << c.what;
  }
}

}  // namespace
}  // namespace relay::passes::rules
