// inline-lets: what a let names takes the place of its name, so that dataflow is a graph
// and not a sequence.
//
// The value is evaluated later than the let or not at all, so it has to be silent, and none of its
// uses may be in a function inside (let_removal.h). Constants and other names are no evaluations,
// and are put everywhere.
//
// Before: nothing is asked for. After: the value of a let that is left can be noticed, or is used
// in a function inside; or it was so until another let went, and a second run takes it.
#include "analysis/effects.h"
#include "op/registry.h"
#include "passes/each_function.h"
#include "passes/let_insertion.h"
#include "passes/let_removal.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Dataflow: what fusion and the memory plan look through.
bool is_dataflow(const analysis::UserKernels& kernels, Expr e) {
  if (const auto* call = e->as<Call>()) return op::callee(*call) || kernels.callee(call);
  return e->kind == ExprKind::kTuple || e->kind == ExprKind::kProj;
}

Expr inline_lets(const Module& m, Expr root) {
  const analysis::UserKernels kernels(m);
  analysis::Effects effects(m);
  return remove_lets(m.context(), root, [&](const Let& let, LetUses uses) {
    if (let.value->type != let.x->type) return false;  // the name is said to be less than the value is
    // The annotation may be all that says at which types an operator is a value.
    if (let.value->kind == ExprKind::kOpRef && let.x->annotation && uses.as_value) return false;
    return is_leaf(let.value) ||
           (is_dataflow(kernels, let.value) && !uses.in_function && effects.silent(let.value));
  });
}

Module inline_lets(const Module& m) {
  return with_each_function(m, [&](const Fn* fn) { return inline_lets(m, fn); });
}

// Without a let, its body is no scope of its own.
Module run(const Module& m, const PassContext&) {
  return with_inserted_lets(m, [](const Module& now, analysis::TrapOrder) { return inline_lets(now); });
}

}  // namespace

const Pass kInlineLets = {
    .name = "inline-lets",
    .doc = "put what lets name into the places of the names, so that it can be fused",
    .run = run,
};

}  // namespace relay::passes
