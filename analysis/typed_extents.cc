#include "analysis/typed_extents.h"

#include <algorithm>

#include "ir/fields.h"
#include "op/registry.h"

namespace relay::analysis {

TypedExtents::TypedExtents(const Module& m, const Fn& fn) {
  const std::vector<Expr> order = post_order(fn.body);
  NodeMap<Expr> value_of;  // of variables of lets
  NodeMap<bool> is_field;  // variables of patterns
  const auto add_fields = [&](Pattern root) {
    std::vector<Pattern> pending{root};
    while (!pending.empty()) {
      const Pattern p = pending.back();
      pending.pop_back();
      if (p->kind == PatternKind::kVar) is_field[p->var] = true;
      for (Pattern part : p->fields) pending.push_back(part);
    }
  };
  for (Expr e : order) {
    if (const auto* let = e->as<Let>()) value_of[let->x] = let->value;
    if (const auto* n = e->as<Match>()) {
      for (const Arm& arm : n->arms) add_fields(arm.pattern);
    }
  }
  const auto is_kernel = [&](Expr callee) {
    const auto* global = callee->as<Global>();
    return global && m.kernel(global->name.text());
  };
  for (Expr e : order) {
    doubted_[e] = match(
        e,
        [&](const Var& v) {
          const Expr value = value_of.get(&v);
          return value ? doubted(value) : is_field.get(&v);
        },
        // Operators and kernels make what their types say.
        [&](const Call& call) { return !op::callee(call) && !is_kernel(call.callee); },
        [&](const RefRead&) { return true; },
        [&](const Tuple& t) {
          return std::any_of(t.fields.begin(), t.fields.end(), [&](Expr f) { return doubted(f); });
        },
        [&](const Proj& p) { return doubted(p.tuple); }, [&](const Let& let) { return doubted(let.body); },
        [&](const If& n) { return doubted(n.then_branch) || doubted(n.else_branch); },
        [&](const Match& n) {
          return std::any_of(n.arms.begin(), n.arms.end(), [&](const Arm& a) { return doubted(a.body); });
        },
        [](const OneOf<Constant, Global, OpRef, CtorRef, Fn, RefNew, RefWrite> auto&) { return false; });
  }
}

}  // namespace relay::analysis
