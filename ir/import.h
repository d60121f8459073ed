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
#include "kernel/kernel.h"

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
  explicit Importer(Context& to, bool rename_type_params = false) : to_(to), rename_(rename_type_params) {}

  Symbol symbol(Symbol s) { return to_.symbol(s.text()); }
  Dim dim(Dim d) { return d.is_symbolic() ? Dim(expr(d.symbolic())) : d; }
  Type type(Type t, const TypeScope* scope = nullptr);  // null stays null
  Attrs attrs(const Attrs& a);

  kernel::Expr expr(kernel::Expr e);  // null stays null
  List<kernel::Expr> exprs(const List<kernel::Expr>& list);
  const kernel::Buffer* buffer(const kernel::Buffer* b);
  const kernel::Kernel* kernel(const kernel::Kernel& k);

  // From here on `from` is imported as `as`.
  void bind(kernel::Expr from, kernel::Expr as) { exprs_[from.get()] = as; }
  void bind(const kernel::Buffer* from, const kernel::Buffer* as) { buffers_[from] = as; }
  // Kernels compute in these dtypes from here on. What instructions did, their blocks' bodies do.
  void map_kernel_dtypes(std::function<DType(DType)> map) { dtype_ = std::move(map); }

 private:
  AttrValue attr_value(const AttrValue& v);
  List<const kernel::Buffer*> buffers(const List<const kernel::Buffer*>& list);
  kernel::Stmt statement(kernel::Stmt s);
  List<kernel::ReadExtent> read_extents(const List<kernel::ReadExtent>& list);
  const kernel::External* external(const kernel::External* e);
  DType dtype(DType d) const { return dtype_ ? dtype_(d) : d; }

  Context& to_;
  bool rename_;
  std::function<DType(DType)> dtype_;
  std::unordered_map<Type, Type> closed_types_;  // without type variables: the same in every scope
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> exprs_;
  std::unordered_map<const kernel::Buffer*, const kernel::Buffer*> buffers_;
};

}  // namespace relay
