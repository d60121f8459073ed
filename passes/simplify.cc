// simplify: algebraic rules, until none applies (docs/rules.md).
//
//   transpose(transpose(%x))     becomes   %x
//   (%x + 2) * 1 + 3             becomes   %x + 5, of integers
//   %x[0:8] of concatenate((a, b)), where a has 8 rows, becomes   a
//
// The rules of simplify are proved for integers and booleans, and give the same bits for floating
// point, too. simplify-floats has besides those that may round in another way, each by a bound that
// it names: what was written out, as a softmax, becomes one operator.
//
// Before: types are known. After: no rule applies. Running out of the budget is `Exhausted`.
#include "base/cat.h"
#include "base/failure.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"
#include "passes/rules/engine.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext& pass, bool bounded) {
  static const std::vector<rules::Rule> all = rules::all_rules();
  const int64_t budget = pass.value("budget");
  rules::Report report;
  Module out = with_inserted_lets(m, [&](const Module& now, analysis::TrapOrder traps) {
    report = {};
    const rules::Options options{.bounded = bounded, .budget = static_cast<size_t>(budget), .traps = traps};
    Module simpler = rules::simplify(now, all, options, report);
    if (report.out_of_budget) {
      throw Exhausted(cat("`", bounded ? "simplify-floats" : "simplify", "` applied ", budget,
                          " rules, and more apply (its parameter `budget`)"));
    }
    return simpler;
  });
  if (pass.on_rule) {
    for (const auto& [rule, times] : report.applied) pass.on_rule(rule, times);
  }
  return out;
}

constexpr Parameter kBudget = {"budget", int64_t{1} << 24, "how many times a rule may apply", 1 << 10};

}  // namespace

const Pass kSimplify = {
    .name = "simplify",
    .doc = "apply exact algebraic rules until none applies",
    .parameters = {kBudget},
    .skips_lets = true,
    .run = [](const Module& m, const PassContext& pass) { return run(m, pass, false); },
};

const Pass kSimplifyFloats = {
    .name = "simplify-floats",
    .doc = "apply algebraic rules, also those that round floating point in another way, until none applies",
    .parameters = {kBudget},
    .approximates = true,
    .skips_lets = true,
    .run = [](const Module& m, const PassContext& pass) { return run(m, pass, true); },
};

}  // namespace relay::passes
