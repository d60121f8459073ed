// Copies of kernels and expressions in another pool.
//
// What is ordered by age has the same order in the copy: operands of canonical sums, and the local
// constants of generated code. So the copy reads like the original.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// Reads what it copies and changes nothing there: several threads may copy one kernel at once, each
// with a pool of its own.
class Copier {
 public:
  // `new_id` gives the ids of buffers; without it they keep those that they have.
  explicit Copier(ExprPool& to, std::function<uint32_t()> new_id = {})
      : to_(to), new_id_(std::move(new_id)) {}

  Expr expr(Expr e);  // null stays null
  List<Expr> exprs(const List<Expr>& list);
  const Buffer* buffer(const Buffer* b);
  const Kernel* kernel(const Kernel& k);

  // From here on `from` is copied as `as`.
  void bind(Expr from, Expr as) { exprs_[from.get()] = as; }
  void bind(const Buffer* from, const Buffer* as) { buffers_[from] = as; }
  // Kernels compute in these dtypes from here on. What instructions did, their blocks' bodies do.
  void map_dtypes(std::function<DType(DType)> map) { dtype_ = std::move(map); }

 private:
  void copy_all(std::vector<Expr> pending);
  Expr copy_of(const ExprNode& n);
  Stmt statement(Stmt root);
  DType dtype(DType d) const { return dtype_ ? dtype_(d) : d; }
  Symbol symbol(Symbol s) { return to_.symbols().intern(s.text()); }

  // A field of a kernel or of one of its statements becomes its copy.
  void bring(Symbol& s) { s = symbol(s); }
  void bring(Expr& e) { e = expr(e); }
  void bring(const Buffer*& b) { b = buffer(b); }
  void bring(Stmt& s) { s = s ? statements_.at(s) : nullptr; }
  void bring(const External*& e);
  void bring(ReadExtent& r) { r.variable = expr(r.variable); }
  void bring(ForKind&) {}
  void bring(IterKind&) {}
  template <class T>
  void bring(List<T>& list);
  template <class T>
    requires requires { T::kFields; }
  void bring(T& n);

  ExprPool& to_;
  std::function<uint32_t()> new_id_;
  std::function<DType(DType)> dtype_;
  std::unordered_map<const ExprNode*, Expr> exprs_;
  std::unordered_map<const Buffer*, const Buffer*> buffers_;
  std::unordered_map<const Buffer*, uint32_t> ids_;  // of buffers that are not copied yet
  std::unordered_map<Stmt, Stmt> statements_;        // of the kernel that is being copied
};

}  // namespace relay::kernel
