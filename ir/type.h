// Types. Interned in a Context: within one context, equal types are the same pointer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/fields.h"
#include "base/symbol.h"
#include "ir/attrs.h"
#include "ir/dim.h"
#include "runtime/dtype.h"
#include "runtime/tensor.h"

namespace relay {

enum class TypeKind : uint8_t { kTensor, kTuple, kFn, kRef, kVar, kData, kHole, kRelation };

struct TypeNode {
  TypeKind kind;
  uint32_t id;  // in order of creation
  // What occurs anywhere in it, so that a closed type need not be searched again and again.
  bool has_hole = false;
  bool has_type_var = false;
  bool has_symbolic_dim = false;
  template <class T>
  const T* as() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};
using Type = const TypeNode*;  // null: not known yet

// Tensor[(dims), dtype]; no dims is a scalar.
struct TensorType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kTensor;
  List<Dim> dims;
  DType dtype;
  static constexpr auto kFields = FieldList<&TensorType::dims, &TensorType::dtype>{};

  size_t rank() const { return dims.size(); }
  bool is_static() const;                     // every dim is a constant
  std::optional<Shape> static_shape() const;  // the extents, if they are all constants
};

// False for constant extents that are of more bytes than 63 bits count: nobody has such a tensor.
bool is_countable(const TensorType& t);

// (T0, T1, ...); the empty tuple is the unit type.
struct TupleType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kTuple;
  List<Type> fields;
  static constexpr auto kFields = FieldList<&TupleType::fields>{};
};

// A type parameter of a generic function or data type, known by its name.
struct TypeVar : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kVar;
  Symbol name;
  static constexpr auto kFields = FieldList<&TypeVar::name>{};
};

// fn[type params where relations](args) -> result. The relations say for which types it may be
// called. The shape variables that occur in `args` are bound by the function type: each call may
// choose them anew.
struct FnType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kFn;
  List<const TypeVar*> type_params;
  List<Type> where;  // each a RelationType
  List<Type> args;
  Type result;
  static constexpr auto kFields =
      FieldList<&FnType::type_params, &FnType::where, &FnType::args, &FnType::result>{};
};

// ref(T): a mutable cell.
struct RefType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kRef;
  Type contents;
  static constexpr auto kFields = FieldList<&RefType::contents>{};
};

// Name[args]: an algebraic data type, declared in the module, applied to arguments.
struct DataType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kData;
  Symbol name;
  List<Type> args;
  static constexpr auto kFields = FieldList<&DataType::name, &DataType::args>{};
};

// An unknown of type inference; `_` in a text. Every hole is a different one.
struct HoleType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kHole;
  static constexpr auto kFields = FieldList<>{};
};

// Name(T0, ..., Tn, attributes): the operator called Name, or each of the family of that name,
// takes arguments of the types T0 ... Tn-1 and then gives Tn. Not the type of anything; stands only
// in FnType::where.
struct RelationType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kRelation;
  Symbol name;
  List<Type> parts;
  Attrs attrs;
  static constexpr auto kFields =
      FieldList<&RelationType::name, &RelationType::parts, &RelationType::attrs>{};

  std::span<const Type> args() const { return {parts.begin(), parts.size() - 1}; }
  Type result() const { return parts.back(); }
};

using AllTypes = TypeList<TensorType, TupleType, FnType, RefType, TypeVar, DataType, HoleType, RelationType>;

static_assert(all_list_fields<1>(AllTypes{}));  // one more: TypeNode

// Calls the one of `f...` that takes the type's concrete struct. Leaving a kind of type out does
// not compile; write `[&](const auto&) {...}` for an explicit default.
template <class... F>
decltype(auto) match(Type t, F&&... f) {
  return match_among<AllTypes>(t, std::forward<F>(f)...);
}

namespace detail {
template <class F>
void visit_part(Type field, F& f) {
  f(field);
}
template <class F>
void visit_part(const List<Type>& field, F& f) {
  for (Type part : field) f(part);
}
// Fields that hold no type. A declared type parameter is no part: it is bound here.
template <OneOf<List<Dim>, DType, Symbol, List<const TypeVar*>, Attrs> Field, class F>
void visit_part(const Field&, F&) {}
}  // namespace detail

// Calls f on each type that t is made of, in the order of kFields.
template <class F>
void for_each_part(Type t, F&& f) {
  match(t,
        [&](const auto& n) { for_each_field(n, [&](const auto& field) { detail::visit_part(field, f); }); });
}

std::string show(Type t);  // "Tensor[(n, 128), float32]", "fn(int32) -> List[A]"; "_" for null and holes
// At most about `most` characters, with "..." for what is left out: shared parts can make a
// type's text huge.
std::string show(Type t, size_t most);

}  // namespace relay
