// expand-operators: operators that are defined by others are written out in those.
//
// Afterwards every operator call has a lowering of its own, and fusion sees the parts.
#include "ir/rewrite.h"
#include "op/registry.h"
#include "passes/expand.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

Module run(const Module& m, const PassContext&) {
  Module now = m;
  // An expansion may call further operators that expand: the definitions are not cyclic, so this ends.
  for (;;) {
    Effects effects(m.context());
    Module next = rewrite(now, [&](relay::Builder& b, Expr e) -> Expr {
      if (const auto* proj = e->as<Proj>()) return field_of_tuple(*proj, effects);
      const op::OpDef* def = op::callee(e);
      return def && def->expand ? expand_in_place(b, *def, *e->as<Call>(), effects) : e;
    });
    if (next.same(now)) return now;
    now = next;
  }
}

}  // namespace

const Pass kExpandOperators = {
    .name = "expand-operators",
    .doc = "write operators that are defined by others out in those",
    .run = run,
};

}  // namespace relay::passes
