// The typed module: every expression with what was found out about it. Expressions that said
// so already stay.
#include <utility>

#include "ir/builder.h"
#include "ir/rewrite.h"
#include "typecheck/inference.h"

namespace relay::typecheck {

// match_shape %x: EXPECTED = e; %x where the checker could not tell whether e has the expected
// extents. Functions compare what they are called with, on every engine and after every pass.
Expr Inference::compared(Expr parent, Expr child, Expr e) {
  const auto found = compared_.find(parent);
  if (found == compared_.end()) return e;
  for (Compared& c : found->second) {
    if (c.child != child || std::exchange(c.done, true)) continue;
    Builder b(context_);
    SpanScope at(b, e->span);
    const Type type = unifier_.resolve(c.expected);
    const auto* x = rebuild(context_, b.var(c.name, type), {.children = {}, .type = type})->as<Var>();
    const FnType* fn_type = context_.fn_type({}, std::vector<Type>{type}, type);
    const Expr fn = b.with_type(b.fn(std::span(&x, 1), x), fn_type);
    return b.call(fn, {e}, {}, type);
  }
  return e;
}

Checked Inference::annotate() {
  NodeMap<Expr> now;
  Builder b(context_);
  const auto typed_var = [&](const Var* v) {
    Expr& known = now[v];
    if (known) return known->as<Var>();
    const Type type = unifier_.resolve(types_[v]);
    const SpanScope at(b, v->span);
    const Var* x = written_vars_.contains(v) ? b.var(v->name.text(), type) : v;
    known = rebuild(context_, x, {.children = {}, .type = type});
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
    for_each_child(e, [&](Expr child) { children.push_back(compared(e, child, now[child])); });
    Changes changes{.children = children, .var = typed_var};
    const auto* global = e->as<Global>();
    changes.type = unifier_.resolve(global ? globals_[global->name].type : types_[e]);

    std::vector<Type> type_args;
    if (const auto* call = e->as<Call>()) {
      // A call inside the function that is called, or one of its group, passes the
      // type parameters on.
      const auto* fn = now[call->callee]->type->as<FnType>();
      for (Type t : type_args_[e]) type_args.push_back(unifier_.resolve(t));
      if (type_args.empty() && fn && call->callee->kind != ExprKind::kOpRef) {
        type_args.assign(fn->type_params.begin(), fn->type_params.end());
      }
    }
    changes.type_args = type_args;
    Expr typed = rebuild(context_, e, changes);
    if (written_calls_.contains(e)) typed = with_written_type(typed);
    if (const auto* fn = typed->as<Fn>(); fn && written_results_.contains(e->as<Fn>()))
      typed = with_written_result(fn);
    now[e] = typed;
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
