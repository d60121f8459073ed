// What is derived from the list of statements and their kFields: dispatch, making, changing.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "kernel/kernel.h"

namespace relay::kernel {

static_assert(all_list_fields<1>(AllStmts{}));  // one more: StmtNode
static_assert(lists_all_fields<BlockIter> && lists_all_fields<Region>);

// Calls the one of `f...` that takes the statement's struct. Leaving a statement out does not
// compile; `[&](const auto&) {...}` is an explicit default.
template <class... F>
decltype(auto) match(Stmt s, F&&... f) {
  return match_among<AllStmts>(s, std::forward<F>(f)...);
}

namespace detail {
template <auto... kField>
constexpr bool has_expressions_alone(FieldList<kField...>) {
  return (OneOf<FieldType<kField>, Expr, List<Expr>, Symbol> && ...);
}
}  // namespace detail

// Are the statement's fields expressions and words alone? Then it has no buffer to write, no
// statement to run and no variable to bind: all that it can do is to look at its expressions.
//
// Texts of such a statement are derived: its kWord, and its fields in parentheses. A field of type
// Expr is a condition there, and a Symbol is a string. Other fields have no text yet.
template <class T>
constexpr bool only_looks = detail::has_expressions_alone(T::kFields);

// Do all statements but the named ones only look? The default of a switch asserts it, and does what
// is right for any such statement: it goes over its `expressions` (walk.h), or does nothing.
template <class... Named>
constexpr bool others_only_look =
    []<class... T>(TypeList<T...>) { return ((OneOf<T, Named...> || only_looks<T>) && ...); }(AllStmts{});

// A statement of all its fields, in order.
template <class T, class... F>
const T* make_stmt(Arena& arena, F&&... field) {
  static_assert(is_among<T>(AllStmts{}), "a statement has to be in AllStmts");
  static_assert(sizeof...(F) == decltype(T::kFields)::kCount, "a statement is made of all fields");
  return arena.make<T>(StmtNode{T::kKind}, std::forward<F>(field)...);
}

// A copy of the statement or its part, changed by `change(copy)`.
template <class T, class Change>
const T* changed_copy(Arena& arena, const T& n, Change&& change) {
  T copy = n;
  change(copy);
  return arena.make<T>(copy);
}

// A copy in which one field has this value.
template <class T, class Field, class Value>
const T* with(Arena& arena, const T& n, Field T::* field, Value&& value) {
  return changed_copy(arena, n, [&](T& copy) { copy.*field = std::forward<Value>(value); });
}

// Calls `f` on each field of a copy, by reference; `f` says whether it changed the field. The
// statement itself if no field changed.
template <class F>
Stmt with_fields(Arena& arena, Stmt s, F&& f) {
  return match(s, [&](const auto& n) -> Stmt {
    auto copy = n;
    bool differs = false;
    for_each_field(copy, [&](auto& field) { differs |= f(field); });
    return differs ? arena.make<std::decay_t<decltype(n)>>(copy) : s;
  });
}

// The same for a list of structs that have fields.
template <class T, class F>
bool change_each(Arena& arena, List<T>& list, F&& f) {
  std::vector<T> out(list.begin(), list.end());
  bool differs = false;
  for (T& item : out) for_each_field(item, [&](auto& field) { differs |= f(field); });
  if (differs) list = arena.list(out);
  return differs;
}

}  // namespace relay::kernel
