// Structs that list their own fields: what walks, compares, hashes or copies them is made of the list.
//
// A struct `S` has `static constexpr auto kFields = std::tuple{&S::first, &S::second};`.
// `lists_all_fields<S>` holds if nothing is missing there: a field that is added and not listed
// does not compile.
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

// A type that stands in the list. Visitors name the types of fields that they pass over, so that a
// field of a new type does not compile before they say what becomes of it.
template <class T, class... Listed>
concept OneOf = (std::is_same_v<T, Listed> || ...);

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

// How many initialisers the aggregate takes: its base, if it has one, and its fields.
template <class S, size_t kCount = 24>
constexpr size_t initialisers() {
  static_assert(kCount > 0, "no aggregate, or one of more than 24 fields");
  if constexpr (takes<S>(std::make_index_sequence<kCount>{})) {
    return kCount;
  } else {
    return initialisers<S, kCount - 1>();
  }
}

}  // namespace detail

// Are all fields of the aggregate in its kFields? `kInherited` is 1 if it has a base with fields, which are not.
template <class S, size_t kInherited = 0>
constexpr bool lists_all_fields =
    std::is_aggregate_v<S> &&
    detail::initialisers<S>() == std::tuple_size_v<decltype(S::kFields)> + kInherited;

// The fields of a struct in order, by reference. `const auto& [a, b] = fields(n);` does not compile
// when a field is added. Only for structs with kFields: `op/define.h` has a function of this name.
template <class S>
  requires requires { S::kFields; }
constexpr auto fields(const S& n) {
  return std::apply([&](auto... field) { return std::tie(n.*field...); }, S::kFields);
}

// Calls f on each field, in order.
template <class S, class F>
constexpr void for_each_field(S& n, F&& f) {
  std::apply([&](auto... field) { (f(n.*field), ...); }, std::remove_const_t<S>::kFields);
}

}  // namespace relay
