// The typed module: every expression with what was found out about it. Expressions that said so already stay.
#include "ir/rewrite.h"
#include "typecheck/inference.h"

namespace relay::typecheck {

Checked Inference::annotate() {
  NodeMap<Expr> now;
  const auto typed_var = [&](const Var* v) {
    Expr& known = now[v];
    if (!known) known = rebuild(context_, v, {.children = {}, .type = unifier_.resolve(types_[v])});
    return known->as<Var>();
  };
  std::vector<Expr> roots, children;
  for (const auto& [name, fn] : module_.functions()) roots.push_back(fn);
  for (Expr e : post_order(roots)) {
    if (const auto* v = e->as<Var>()) {
      typed_var(v);
      continue;
    }
    children.clear();
    for_each_child(e, [&](Expr child) { children.push_back(now[child]); });
    Changes changes{.children = children, .var = typed_var};
    const auto* global = e->as<Global>();
    changes.type = unifier_.resolve(global ? globals_[global->name].type : types_[e]);

    std::vector<Type> type_args;
    if (const auto* call = e->as<Call>()) {
      // A call inside the function that is called, or one of its group, passes the type parameters on.
      const auto* fn = now[call->callee]->type->as<FnType>();
      for (Type t : type_args_[e]) type_args.push_back(unifier_.resolve(t));
      if (type_args.empty() && fn && call->callee->kind != ExprKind::kOpRef) {
        type_args.assign(fn->type_params.begin(), fn->type_params.end());
      }
    }
    changes.type_args = type_args;
    now[e] = rebuild(context_, e, changes);
  }

  Checked out{module_, std::move(checks_)};
  for (const auto& [name, fn] : module_.functions()) out.module.set_function(name.text(), now[fn]->as<Fn>());
  for (RunTimeCheck& c : out.checks) {
    c.at = now[c.at];
    c.expected = unifier_.resolve(c.expected);
    c.actual = unifier_.resolve(c.actual);
  }
  return out;
}

}  // namespace relay::typecheck
