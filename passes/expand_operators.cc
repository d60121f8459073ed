// expand-operators: operators that are defined by others are written out in those.
//
// Afterwards every operator call has a lowering of its own, and fusion sees the parts. An
// operator that is a value, as in `fold(add, ...)`, becomes a function that calls it, which is
// compiled like any other.
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/expand.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// A function that calls the operator; the operator itself if its type is not known, as in a
// generic function.
Expr function_of(relay::Builder& b, const OpRef& ref) {
  const auto* type = ref.type ? ref.type->as<FnType>() : nullptr;
  if (!type || type->has_type_var || type->has_hole) return &ref;
  SpanScope at(b, ref.span);
  std::vector<const Var*> params;
  for (Type t : type->args) params.push_back(b.with_type(b.var("x", t), t)->as<Var>());
  const std::vector<Expr> args(params.begin(), params.end());
  try {
    const std::vector<Type> types(type->args.begin(), type->args.end());
    const Type result = op::infer(b.context(), *ref.op, types, {});
    return b.fn(params, b.call(b.op(*ref.op), args, {}, result), nullptr);
  } catch (const op::RelationError&) {
    return &ref;
  }
}

// Operators among a node's children that are not called.
Expr name_operators(relay::Builder& b, Expr e) {
  std::vector<Expr> children;
  bool changed = false;
  const bool is_call = e->as<Call>() != nullptr;
  for_each_child(e, [&](Expr child) {
    const auto* ref = child->as<OpRef>();
    if (ref && !(is_call && children.empty())) child = function_of(b, *ref);
    changed |= ref != nullptr && child != ref;
    children.push_back(child);
  });
  return changed ? with_children(b.context(), e, children) : e;
}

Module expand_operators(const Module& m, analysis::TrapOrder traps) {
  Module now = rewrite(m, name_operators);
  // An expansion may call further operators that expand: the definitions are not
  // cyclic, so this ends.
  for (;;) {
    analysis::Effects effects(now, traps);
    Module next = rewrite(now, [&](relay::Builder& b, Expr e) -> Expr {
      if (const auto* proj = e->as<Proj>()) return field_of_tuple(*proj, effects);
      const op::OpDef* def = op::callee(e);
      return def && def->expand ? expand_in_place(b, *def, *e->as<Call>(), effects) : e;
    });
    if (next.same(now)) return now;
    now = next;
  }
}

// Arguments that become lets are evaluated one after the other, with all that is shared in each.
Module run(const Module& m, const PassContext&) { return with_inserted_lets(m, expand_operators); }

}  // namespace

const Pass kExpandOperators = {
    .name = "expand-operators",
    .doc = "write operators that are defined by others out in those",
    .run = run,
};

}  // namespace relay::passes
