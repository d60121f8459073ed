// Types. Interned in a Context: within one context, equal types are the same pointer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
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
};

// A type parameter of a generic function or data type, known by its name.
struct TypeVar : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kVar;
  Symbol name;
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
};

// ref(T): a mutable cell.
struct RefType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kRef;
  Type contents;
};

// Name[args]: an algebraic data type, declared in the module, applied to arguments.
struct DataType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kData;
  Symbol name;
  List<Type> args;
};

// An unknown of type inference; `_` in a text. Every hole is a different one.
struct HoleType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kHole;
};

// Name(T0, ..., Tn, attributes): the operator called Name, or each of the family of that name,
// takes arguments of the types T0 ... Tn-1 and then gives Tn. Not the type of anything; stands only
// in FnType::where.
struct RelationType : TypeNode {
  static constexpr TypeKind kKind = TypeKind::kRelation;
  Symbol name;
  List<Type> parts;
  Attrs attrs;

  std::span<const Type> args() const { return {parts.begin(), parts.size() - 1}; }
  Type result() const { return parts.back(); }
};

// Calls f on each type that t is made of, in order: fields; relations, arguments, then result;
// contents; arguments.
template <class F>
void for_each_part(Type t, F&& f) {
  const auto each = [&](const List<Type>& parts) {
    for (Type part : parts) f(part);
  };
  if (const auto* tuple = t->as<TupleType>()) {
    each(tuple->fields);
  } else if (const auto* fn = t->as<FnType>()) {
    each(fn->where);
    each(fn->args);
    f(fn->result);
  } else if (const auto* ref = t->as<RefType>()) {
    f(ref->contents);
  } else if (const auto* data = t->as<DataType>()) {
    each(data->args);
  } else if (const auto* relation = t->as<RelationType>()) {
    each(relation->parts);
  }
}

std::string show(Type t);  // "Tensor[(n, 128), float32]", "fn(int32) -> List[A]"; "_" for null and holes
// At most about `most` characters, with "..." for what is left out: shared parts can make a
// type's text huge.
std::string show(Type t, size_t most);

}  // namespace relay
