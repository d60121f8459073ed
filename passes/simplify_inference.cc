// simplify-inference: what matters only in training is replaced by what it does at inference.
//
// Batch normalisation becomes a multiplication and an addition with statistics that fold into
// constants; dropout becomes its argument. Both give tuples, of which usually one field is used:
// projections of tuples go too.
//
// Before: nothing is asked for. After: no normalisation by batches and no dropout is left.
#include "ir/rewrite.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/expand.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

bool only_for_training(const op::OpDef* def) { return def == &op::kBatchNorm || def == &op::kDropout; }

Module simplify_inference(const Module& m, analysis::TrapOrder traps) {
  analysis::Effects effects(m, traps);
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    if (const auto* proj = e->as<Proj>()) return field_of_tuple(*proj, effects);
    const op::OpDef* def = op::callee(e);
    return only_for_training(def) ? expand_in_place(b, *def, *e->as<Call>(), effects) : e;
  });
}

// Arguments that become lets are evaluated one after the other, with all that is shared in each.
Module run(const Module& m, const PassContext&) { return with_inserted_lets(m, simplify_inference); }

}  // namespace

const Pass kSimplifyInference = {
    .name = "simplify-inference",
    .doc = "replace batch normalisation and dropout by what they do at inference",
    .run = run,
};

}  // namespace relay::passes
