// to-graph-normal-form: what lets name is shared by pointers, so that dataflow is a graph.
//
// Before, the module is any. After it `breaks_graph_normal_form` (normal_forms.h) finds
// nothing. What a program can notice keeps its let, because a shared node is evaluated at
// another time (let_removal.h). `inline-lets` leaves more lets, as fusion likes it: of
// functions, branches and matches.
//
// A let that goes may be all that kept another one, so the pass goes over the module until nothing
// changes. Each round is linear. Programs need a few; after `kMostRounds` the rest stays.
#include "analysis/effects.h"
#include "passes/each_function.h"
#include "passes/let_insertion.h"
#include "passes/let_removal.h"
#include "passes/normal_forms.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module to_graph(const Module& m) {
  return with_each_function(m, [&](const Fn* fn) {
    analysis::Effects effects(m);
    return remove_lets(m.context(), fn,
                       [&](const Let& let, LetUses uses) { return is_needless(let, uses, effects); });
  });
}

constexpr int kMostRounds = 64;

// Without a let, its body is no scope of its own.
Module run(const Module& m, const PassContext&) {
  return with_inserted_lets(m, [](const Module& before, analysis::TrapOrder) {
    Module now = before;
    for (int round = 0; round < kMostRounds; ++round) {
      const Module next = to_graph(now);
      if (next.same(now)) break;
      now = next;
    }
    return now;
  });
}

}  // namespace

const Pass kToGraphNormalForm = {
    .name = "to-graph-normal-form",
    .doc = "share what lets name by pointers, where no evaluation can be noticed",
    .run = run,
};

}  // namespace relay::passes
