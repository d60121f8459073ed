// Structs that list their own fields. What walks them, compares, hashes or copies them is made of
// the list.
//
// A struct `S` has `static constexpr auto kFields = FieldList<&S::first, &S::second>{};`.
// `lists_all_fields<S>` holds if nothing is missing there: a field that is added and not listed
// does not compile.
//
// Some of them are forms: each derives from a node that says by its `kind` which form it is, and
// has a constant `kKind`. `match_among` goes from a node to its form.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace relay {

// One visitor of several: the call goes to the one that takes the argument.
template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

template <class... T>
struct TypeList {};

// Pointers to the fields of a struct, which it gives to a function. A std::tuple of them would take
// a compiler a tenth of its time in every file that includes `ir`.
template <auto... kField>
struct FieldList {
  static constexpr size_t kCount = sizeof...(kField);

  template <class F>
  constexpr decltype(auto) operator()(F&& f) const {
    return f(kField...);
  }
};

namespace detail {
template <class S, class Field>
Field type_of(Field S::*);  // only ever named
}  // namespace detail

// The type of the field that it points to.
template <auto kField>
using FieldType = decltype(detail::type_of(kField));

// A type that stands in the list. Visitors name the types of fields that they pass over, so that a
// field of a new type does not compile before they say what becomes of it.
template <class T, class... Listed>
concept OneOf = (std::is_same_v<T, Listed> || ...);

template <class T, class... Listed>
constexpr bool is_among(TypeList<Listed...>) {
  return OneOf<T, Listed...>;
}

namespace detail {

// Initialises a field of any type; only ever named.
struct AnyField {
  template <class T>
  operator T() const;
};
template <size_t>
using AnyOf = AnyField;

template <class S, size_t... kIndex>
constexpr bool takes(std::index_sequence<kIndex...>) {
  return requires { S{AnyOf<kIndex>{}...}; };
}

// Does the aggregate take so many initialisers, for its base, if it has one, and its fields, and no
// more?
template <class S, size_t kCount>
constexpr bool takes_exactly() {
  return takes<S>(std::make_index_sequence<kCount>{}) && !takes<S>(std::make_index_sequence<kCount + 1>{});
}

}  // namespace detail

// Are all fields of the aggregate in its kFields? A base with fields counts as one that is
// inherited.
template <class S, size_t kInherited = 0>
constexpr bool lists_all_fields =
    std::is_aggregate_v<S> && detail::takes_exactly<S, decltype(S::kFields)::kCount + kInherited>();

// Does each struct of the list have all of its fields in its kFields?
template <size_t kInherited = 0, class... S>
constexpr bool all_list_fields(TypeList<S...>) {
  return (lists_all_fields<S, kInherited> && ...);
}

// The fields of a struct in order, by reference. `const auto& [a, b] = fields(n);` does not compile
// when a field is added. Only for structs with kFields: `op/define.h` has a function of this name.
template <class S>
  requires requires { S::kFields; }
constexpr auto fields(const S& n) {
  return S::kFields([&](auto... field) { return std::tie(n.*field...); });
}

// Calls f on each field, in order.
template <class S, class F>
constexpr void for_each_field(S& n, F&& f) {
  std::remove_const_t<S>::kFields([&](auto... field) { (f(n.*field), ...); });
}

namespace detail {

template <class... Form>
constexpr bool in_order_of_kinds() {
  size_t next = 0;
  return ((static_cast<size_t>(Form::kKind) == next++) && ...);
}

// Calls the visitor with the node as the form of this number.
template <size_t kNumber, class Result, class... Form, class Node, class Visitor>
Result visit_form(TypeList<Form...>, const Node& n, Visitor& v) {
  if constexpr (kNumber < sizeof...(Form)) {
    return v(static_cast<const std::tuple_element_t<kNumber, std::tuple<Form...>>&>(n));
  } else {
    __builtin_unreachable();
  }
}

template <class First, class... Rest, class Node, class Visitor>
decltype(auto) visit_as_form(TypeList<First, Rest...> forms, const Node& n, Visitor v) {
  static_assert(in_order_of_kinds<First, Rest...>(), "the forms are listed in order of their kinds");
  static_assert(sizeof...(Rest) < 16, "more forms than the switch has cases");
  static_assert(
      std::is_invocable_v<Visitor&, const First&> && (std::is_invocable_v<Visitor&, const Rest&> && ...),
      "match: a form has no case");
  using Result = std::invoke_result_t<Visitor&, const First&>;
  static_assert((std::is_same_v<Result, std::invoke_result_t<Visitor&, const Rest&>> && ...),
                "match: all cases give values of one type");
  switch (static_cast<size_t>(n.kind)) {
    case 0: return visit_form<0, Result>(forms, n, v);
    case 1: return visit_form<1, Result>(forms, n, v);
    case 2: return visit_form<2, Result>(forms, n, v);
    case 3: return visit_form<3, Result>(forms, n, v);
    case 4: return visit_form<4, Result>(forms, n, v);
    case 5: return visit_form<5, Result>(forms, n, v);
    case 6: return visit_form<6, Result>(forms, n, v);
    case 7: return visit_form<7, Result>(forms, n, v);
    case 8: return visit_form<8, Result>(forms, n, v);
    case 9: return visit_form<9, Result>(forms, n, v);
    case 10: return visit_form<10, Result>(forms, n, v);
    case 11: return visit_form<11, Result>(forms, n, v);
    case 12: return visit_form<12, Result>(forms, n, v);
    case 13: return visit_form<13, Result>(forms, n, v);
    case 14: return visit_form<14, Result>(forms, n, v);
    case 15: return visit_form<15, Result>(forms, n, v);
  }
  __builtin_unreachable();
}

}  // namespace detail

// Calls the one of `f...` that takes the form of the node. Leaving out one of Forms, a TypeList,
// does not compile; write `[&](const auto&) {...}` for an explicit default.
template <class Forms, class Node, class... F>
decltype(auto) match_among(const Node* node, F&&... f) {
  return detail::visit_as_form(Forms{}, *node, Overload<std::decay_t<F>...>{std::forward<F>(f)...});
}

}  // namespace relay
