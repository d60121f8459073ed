// What follows from the list of expression forms and their kFields: dispatch, children, binders.
//
// A visitor has an overload for each type of field, also for those that it passes over. So a field
// of a new type does not compile before every visitor says what becomes of it.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "ir/expr.h"

namespace relay {

static_assert(all_list_fields<1>(AllExprs{}));  // one more: ExprNode
static_assert(lists_all_fields<Arm> && lists_all_fields<PatternNode>);

// Calls the one of `f...` that takes the node's concrete struct. Leaving a form out does not
// compile; write `[&](const auto&) {...}` for an explicit default.
template <class... F>
decltype(auto) match(Expr e, F&&... f) {
  return match_among<AllExprs>(e, std::forward<F>(f)...);
}

namespace detail {
// Fields of a node that hold neither an expression nor a binder.
template <class T>
concept Inert = OneOf<T, Symbol, Type, List<Type>, List<const TypeVar*>, Attrs, const Tensor*,
                      const op::OpDef*, const Constructor*, uint32_t, bool>;

template <class F>
void visit_child(Expr field, F& f) {
  f(field);
}
template <class F>
void visit_child(const List<Expr>& field, F& f) {
  for (Expr e : field) f(e);
}
template <class... Held, auto... kField>
constexpr bool has_field_of(FieldList<kField...>) {
  return (OneOf<FieldType<kField>, Held...> || ...);
}
static_assert(!has_field_of<Expr, List<Expr>, List<Arm>>(PatternNode::kFields),
              "traversals take patterns to hold no expressions");

// A binder is not a child: `x` of a let and the parameters of a function are bound, not evaluated.
template <OneOf<const Var*, List<const Var*>, Pattern> Field, class F>
void visit_child(const Field&, F&) {}
template <Inert Field, class F>
void visit_child(const Field&, F&) {}
template <class F>
void visit_child(const List<Arm>& field, F& f) {
  for (const Arm& arm : field) for_each_field(arm, [&](const auto& part) { visit_child(part, f); });
}
}  // namespace detail

// Calls f on each direct child, in evaluation order. Every other traversal is built on this.
template <class F>
void for_each_child(Expr e, F&& f) {
  match(e,
        [&](const auto& n) { for_each_field(n, [&](const auto& field) { detail::visit_child(field, f); }); });
}

// Calls f on each pattern inside the root, the root first, from left to right.
template <class F>
void for_each_pattern(Pattern root, F&& f) {
  std::vector<Pattern> pending{root};
  while (!pending.empty()) {
    const Pattern p = pending.back();
    pending.pop_back();
    f(p);
    for (size_t i = p->fields.size(); i-- > 0;) pending.push_back(p->fields[i]);
  }
}

namespace detail {
template <class F>
void visit_binder(const Var* field, F& f) {
  f(field);
}
template <class F>
void visit_binder(const List<const Var*>& field, F& f) {
  for (const Var* v : field) f(v);
}
template <class F>
void visit_binder(Pattern field, F& f) {
  for_each_pattern(field, [&](Pattern p) {
    if (p->var) f(p->var);
  });
}
template <OneOf<Expr, List<Expr>> Field, class F>
void visit_binder(const Field&, F&) {}
template <Inert Field, class F>
void visit_binder(const Field&, F&) {}
template <class F>
void visit_binder(const List<Arm>& field, F& f) {
  for (const Arm& arm : field) for_each_field(arm, [&](const auto& part) { visit_binder(part, f); });
}
}  // namespace detail

// Calls f on each variable that the node itself binds (parameters, let variable,
// pattern variables).
template <class F>
void for_each_binder(Expr e, F&& f) {
  match(e, [&](const auto& n) {
    for_each_field(n, [&](const auto& field) { detail::visit_binder(field, f); });
  });
}

// Does the form have a field of one of these types? A visitor that takes some forms apart, and has
// a default for all others, asserts there that they have nothing of the kind.
template <class Form, class... Field>
constexpr bool has_field = detail::has_field_of<Field...>(Form::kFields);
template <class Form>
constexpr bool binds_variables = has_field<Form, const Var*, List<const Var*>, List<Arm>>;
template <class Form>
constexpr bool holds_types = has_field<Form, Type, List<Type>, List<const TypeVar*>>;

// Is the field a part of what the program says? Equality and hash pass over all others: the name
// of a side file's entry, and what the type check found out.
template <class T, class Field>
constexpr bool is_compared(Field T::*) {
  return true;
}
constexpr bool is_compared(Symbol Constant::* field) { return field != &Constant::name; }
constexpr bool is_compared(List<Type> Call::* field) { return field != &Call::type_args; }

// Is the field the name of a variable? For equality and hash a bound variable has none.
template <class T, class Field>
constexpr bool is_variable_name(Field T::*) {
  return false;
}
constexpr bool is_variable_name(Symbol Var::* field) { return field == &Var::name; }

}  // namespace relay
