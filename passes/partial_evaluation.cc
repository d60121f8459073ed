// partial-evaluation: what is known before the program runs is evaluated before it runs.
//
// An interpreter goes through each function with arguments that are not known, and keeps what is
// known of values: the fields of tuples and data, the code of functions, the contents of cells. It
// unfolds calls, takes known branches and arms, reads known cells, and folds operators on small
// constants. The rest is left in A-normal form, in the order of evaluation. So a recursion on a
// list of known length, or from a known number down, becomes a sequence without calls and matches:
// this is the pass that unrolls recursion, and `max-calls` is the limit.
//
// A call stays if its function is not known, if its arguments are not of the types of the
// parameters, or if it recurs in a branch that may not be taken and nothing known gets smaller. It
// also stays if it unfolds to too much, as `max-calls` and `max-nodes` say; what was done until
// then is taken back. Unknown code may write to every cell. Functions are kept once for each
// choice of types. A call that equals one before it, and can be noticed by nothing but its value,
// has that value. A function of operators alone stays as it is.
//
// Before: nothing is asked for. After: functions that changed are in A-normal form.
#include <algorithm>
#include <vector>

#include "base/cat.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "passes/partial_evaluator.h"
#include "passes/pass.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

constexpr size_t kStepsPerNode = 32;

// @main first: the whole module has one budget of steps, which is linear in the module's size.
std::vector<Symbol> in_order(const Module& m) {
  std::vector<Symbol> out;
  for (const auto& [name, fn] : m.functions()) out.push_back(name);
  std::stable_partition(out.begin(), out.end(), [](Symbol name) { return name.text() == "main"; });
  return out;
}

// Has the function only operators, on which `fold-constants` does as much? It stays then, with what
// it shares, in the order that fusion likes.
bool is_dataflow(const Fn* fn) {
  for (Expr e : post_order(fn->body)) {
    const auto* call = e->as<Call>();
    const bool evaluates = call ? !op::callee(*call)
                                : e->as<Fn>() || e->as<If>() || e->as<Match>() || e->as<RefNew>() ||
                                      e->as<RefRead>() || e->as<RefWrite>();
    if (evaluates) return false;
  }
  return true;
}

Module run(const Module& m, const PassContext& context) {
  PartialBudget budget{static_cast<size_t>(context.value("max-calls")),
                       static_cast<size_t>(context.value("max-nodes")), 0};
  size_t nodes = 0;
  for (const auto& [name, fn] : m.functions()) nodes += post_order(fn).size();
  budget.steps = kStepsPerNode * (budget.nodes + nodes);
  Module out = m;
  for (Symbol name : in_order(m)) {
    const Fn* fn = m.function(name.text());
    if (is_dataflow(fn)) continue;
    PartialEvaluator evaluator(m, budget);
    const Fn* now = evaluator.run(fn);
    budget.steps -= std::min(budget.steps, evaluator.steps());
    if (now != fn) out.set_function(name.text(), now);
  }
  // Extents that are known now may make an operator wrong in all runs. That is a trap of
  // these runs, and no error of the program.
  Diagnostics wrong;
  if (out.same(m) || typecheck::check(out, wrong)) return out;
  context.stays(cat("with what is known the program would not type check: ", wrong.all().front().message()));
  return m;
}

}  // namespace

const Pass kPartialEvaluation = {
    .name = "partial-evaluation",
    .doc = "evaluate what is known before the program runs: calls, matches, branches, cells",
    .parameters = {{"max-calls", 1000, "a call stays if it unfolds to more calls"},
                   {"max-nodes", 10000, "a call stays if it unfolds to more evaluations"}},
    .run = run,
};

}  // namespace relay::passes
