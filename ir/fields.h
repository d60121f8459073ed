// What is derived from the list of expression forms and their kFields: dispatch,
// children, rebuilding.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "ir/expr.h"

namespace relay {

namespace detail {
template <class Visitor, class... T>
constexpr bool covers(TypeList<T...>) {
  return (std::is_invocable_v<Visitor, const T&> && ...);
}
}  // namespace detail

// Calls the one of `f...` that takes the node's concrete struct. Leaving a form out does not
// compile; write `[&](const auto&) {...}` for an explicit default.
template <class... F>
decltype(auto) match(Expr e, F&&... f) {
  using Visitor = Overload<std::decay_t<F>...>;
  static_assert(detail::covers<Visitor&>(AllExprs{}), "match: a form of expression has no case");
  Visitor v{std::forward<F>(f)...};
  switch (e->kind) {
    case ExprKind::kConstant: return v(*static_cast<const Constant*>(e));
    case ExprKind::kVar: return v(*static_cast<const Var*>(e));
    case ExprKind::kGlobal: return v(*static_cast<const Global*>(e));
    case ExprKind::kOpRef: return v(*static_cast<const OpRef*>(e));
    case ExprKind::kCtorRef: return v(*static_cast<const CtorRef*>(e));
    case ExprKind::kTuple: return v(*static_cast<const Tuple*>(e));
    case ExprKind::kProj: return v(*static_cast<const Proj*>(e));
    case ExprKind::kFn: return v(*static_cast<const Fn*>(e));
    case ExprKind::kCall: return v(*static_cast<const Call*>(e));
    case ExprKind::kLet: return v(*static_cast<const Let*>(e));
    case ExprKind::kIf: return v(*static_cast<const If*>(e));
    case ExprKind::kMatch: return v(*static_cast<const Match*>(e));
    case ExprKind::kRefNew: return v(*static_cast<const RefNew*>(e));
    case ExprKind::kRefRead: return v(*static_cast<const RefRead*>(e));
    case ExprKind::kRefWrite: break;
  }
  return v(*static_cast<const RefWrite*>(e));
}

namespace detail {
template <class F>
void visit_field(Expr field, F& f) {
  f(field);
}
template <class F>
void visit_field(const List<Expr>& field, F& f) {
  for (Expr e : field) f(e);
}
template <class F>
void visit_field(const List<Arm>& field, F& f) {
  for (const Arm& arm : field) f(arm.body);
}
// A binder is not a child: `x` of a let and the parameters of a function are bound, not evaluated.
template <class Other, class F>
void visit_field(const Other&, F&) {}
}  // namespace detail

// Calls f on each direct child, in evaluation order. Every other traversal is built on this.
template <class F>
void for_each_child(Expr e, F&& f) {
  match(e, [&](const auto& n) {
    std::apply([&](auto... field) { (detail::visit_field(n.*field, f), ...); },
               std::decay_t<decltype(n)>::kFields);
  });
}

// Calls f on each variable that the node itself binds (parameters, let variable,
// pattern variables).
template <class F>
void for_each_binder(Expr e, F&& f) {
  if (const auto* fn = e->as<Fn>()) {
    for (const Var* p : fn->params) f(p);
  } else if (const auto* let = e->as<Let>()) {
    f(let->x);
  } else if (const auto* m = e->as<Match>()) {
    for (const Arm& arm : m->arms) {
      std::vector<Pattern> pending{arm.pattern};
      while (!pending.empty()) {
        Pattern p = pending.back();
        pending.pop_back();
        if (p->var) f(p->var);
        for (size_t i = p->fields.size(); i-- > 0;) pending.push_back(p->fields[i]);
      }
    }
  }
}

}  // namespace relay
