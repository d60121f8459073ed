// Importer: copies of types, dims, attributes and kernels in another context.
//
// Equal things of the source become the same pointer in the target, which is how `compact` moves a
// module and how equality compares across contexts: import both sides into one context, then
// compare pointers.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/context.h"
#include "kernel/copy.h"

namespace relay {

// The type parameters in scope, innermost last. An importer that renames them gives them names by
// position, so that types which differ only in those names meet.
struct TypeScope {
  const TypeScope* outer = nullptr;
  List<const TypeVar*> params = {};
  uint32_t level = 0;  // how many scopes are around this one
};

class Importer {
 public:
  explicit Importer(Context& to, bool rename_type_params = false)
      : to_(to), rename_(rename_type_params), kernels_(to.pool(), [&to] { return to.next_buffer_id(); }) {}

  Symbol symbol(Symbol s) { return to_.symbol(s.text()); }
  Dim dim(Dim d) { return d.is_symbolic() ? Dim(kernels_.expr(d.symbolic())) : d; }
  Type type(Type t, const TypeScope* scope = nullptr);  // null stays null
  Attrs attrs(const Attrs& a);

  // Kernels, and what they are made of.
  kernel::Copier& kernels() { return kernels_; }

 private:
  AttrValue attr_value(const AttrValue& v);

  Context& to_;
  bool rename_;
  kernel::Copier kernels_;
  std::unordered_map<Type, Type> closed_types_;  // without type variables: the same in every scope
};

}  // namespace relay
