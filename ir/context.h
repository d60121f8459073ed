// Context: the arena of a module together with what is interned in it.
//
// Everything a module points at lives here; a module keeps its context alive. Modules that were
// made from one another share a context, so that expressions from before and after a pass can be
// held side by side. One thread writes a context at a time.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/source.h"
#include "base/symbol.h"
#include "ir/attrs.h"
#include "ir/expr.h"
#include "ir/type.h"
#include "kernel/expr.h"

namespace relay {

class Context {
 public:
  Context() : symbols_(arena_), pool_(arena_, symbols_) {}
  Context(const Context&) = delete;

  Symbol symbol(std::string_view text) { return symbols_.intern(text); }

  // Types.
  const TensorType* tensor_type(std::span<const Dim> dims, DType dtype);
  const TensorType* tensor_type(const std::vector<Dim>& dims, DType dtype) {
    return tensor_type(std::span<const Dim>(dims), dtype);
  }
  const TensorType* tensor_type(const Shape& shape, DType dtype);
  const TensorType* scalar_type(DType dtype) { return tensor_type(std::span<const Dim>(), dtype); }
  const TupleType* tuple_type(std::span<const Type> fields);
  const FnType* fn_type(std::span<const TypeVar* const> type_params, std::span<const Type> args, Type result,
                        std::span<const Type> where = {});
  const RelationType* relation_type(std::string_view name, std::span<const Type> parts,
                                    const Attrs& attrs = {});
  const RefType* ref_type(Type contents);
  const TypeVar* type_var(std::string_view name);
  const DataType* data_type(std::string_view name, std::span<const Type> args);
  // Returns the type with these fields. Lists in them are copied if the type is new. `has_hole` and
  // the like are computed from the fields. Not for holes: each is a type of its own.
  template <class T>
  const T* type(T fields);
  // The type with other parts, in the order of for_each_part; type parameters stay.
  Type with_parts(Type t, std::span<const Type> parts);
  const HoleType* hole_type();  // a new one at each call
  Dim shape_variable(std::string_view name) { return Dim(pool_.shape_variable(name)); }

  // Attributes: sorted by name; a name given twice keeps the last value.
  Attrs attrs(const std::vector<AttrArg>& args);
  Attrs intern_attrs(std::vector<Attr> items);
  AttrValue attr_value(const decltype(AttrArg::value)& value);
  AttrValue attr_list(std::span<const AttrValue> items);

  // Tensors of constants live as long as the context.
  const Tensor* keep(Tensor tensor);
  const std::deque<Tensor>& tensors() const { return tensors_; }

  // A copy of a node description with a fresh id. For Builder and rewrites; use those.
  template <class T>
  const T* node(T proto) {
    static_assert(is_among<T>(AllExprs{}), "a form has to be in AllExprs");
    CHECK(next_node_ != UINT32_MAX, "a context holds at most 2^32 nodes");
    proto.kind = T::kKind;
    proto.id = next_node_++;
    return arena_.make<T>(proto);
  }
  uint32_t node_count() const { return next_node_; }
  uint32_t next_buffer_id() { return next_buffer_++; }

  Arena& arena() { return arena_; }
  SymbolTable& symbols() { return symbols_; }
  kernel::ExprPool& pool() { return pool_; }
  SourceMap& sources() { return sources_; }
  const SourceMap& sources() const { return sources_; }

 private:
  Arena arena_;
  SymbolTable symbols_;
  kernel::ExprPool pool_;
  SourceMap sources_;
  std::deque<Tensor> tensors_;
  std::unordered_multimap<uint64_t, Type> types_;
  std::unordered_multimap<uint64_t, const List<Attr>*> attrs_;
  uint32_t next_node_ = 0;
  uint32_t next_type_ = 0;
  uint32_t next_buffer_ = 0;
};

}  // namespace relay
