// @PATH@: negate once less: negative(negative(x)) is x.
//
// What stays the same keeps its pointer, so that the runner sees whether anything happened.
#include "ir/rewrite.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// The operand of a call of `negative`; null for anything else.
Expr negated(Expr e) { return op::callee(e) == &op::kNegative ? e->as<Call>()->args[0] : nullptr; }

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [](relay::Builder&, Expr e) -> Expr {
    const Expr inner = negated(e) ? negated(negated(e)) : nullptr;
    return inner ? inner : e;
  });
}

}  // namespace

const Pass kTemplate = {
    .name = "@NAME@",
    .doc = "negative(negative(x)) is x",
    .run = run,
};
}  // namespace relay::passes
