// simplify: algebraic rules, until none applies (docs/rules.md lists them).
//
//   transpose(transpose(%x))     becomes   %x
//   (%x + 2) * 1 + 3             becomes   %x + 5, of integers
//   %x[0:8] of concatenate((a, b)), where a has 8 rows, becomes   a
//
// Rules are proved for integers and booleans, and give the same bits for floating point, too. With
// `bounded=1` so are those tried that may round in another way, by a bound that each names.
//
// Before: types are known. After: no rule applies. Running out of the budget is `Exhausted`.
#include "base/cat.h"
#include "base/failure.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"
#include "passes/rules/engine.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext& pass) {
  const std::vector<rules::Rule> all = rules::all_rules();
  bool out_of_budget = false;
  const Module out = with_inserted_lets(m, [&](const Module& now, analysis::TrapOrder traps) {
    rules::Report report;
    const rules::Options options{.bounded = pass.value("bounded") != 0,
                                 .budget = static_cast<size_t>(pass.value("budget")),
                                 .traps = traps};
    Module simpler = rules::simplify(now, all, options, report);
    out_of_budget = report.out_of_budget;
    return simpler;
  });
  if (out_of_budget) {
    throw Exhausted(cat("`simplify` applied ", pass.value("budget"),
                        " rules, and more apply; `simplify{budget=N}` raises the limit"));
  }
  return out;
}

}  // namespace

const Pass kSimplify = {
    .name = "simplify",
    .doc = "apply algebraic rules until none applies",
    .parameters = {{"bounded", 0, "1: also rules that round in another way, by a bound", 0, 1},
                   {"budget", 1 << 20, "how many times a rule may apply"}},
    .run = run,
};

}  // namespace relay::passes
