// Writer: how the rules for a target write down the loops, blocks and buffers of one kernel.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/schedule/stage.h"

namespace relay::kernel::schedule {

// The value of an axis inside a block, in terms of the loops around it.
struct Binding {
  Axis axis;
  IterKind kind = IterKind::kSpatial;
  Expr value = {};
};

class Writer {
 public:
  explicit Writer(const Kernel& k);

  ExprPool& pool() { return pool_; }
  Expr index(int64_t v) { return pool_.integer(v); }
  Expr variable(std::string_view name) { return pool_.variable(name); }
  // A variable that stands for an axis of a local tile, to be bound in blocks.
  Axis axis(std::string_view name, Expr extent) { return {variable(name), extent}; }

  const Buffer* local(std::string_view name, DType dtype, std::vector<Expr> shape);
  // One for each block of threads.
  const Buffer* shared(std::string_view name, DType dtype, std::vector<Expr> shape);
  // A buffer that the caller allocates: to be added to the kernel's temporaries.
  const Buffer* temporary(std::string_view name, DType dtype, std::vector<Expr> shape);
  const std::vector<const Buffer*>& temporaries() const { return temporaries_; }
  // What `body` writes stands at these places of these axes: all its blocks that mention one of
  // them are bound to it.
  Stmt around(const std::vector<Binding>& places, const std::function<Stmt()>& body);
  // The expression at those places, for what stands outside of blocks.
  Expr here(Expr e) const;
  // A block over the axes that `body` mentions, each under a fresh variable.
  Stmt block(std::string_view name, const std::vector<Binding>& bindings, Stmt body);
  Stmt store(const Buffer* buffer, const std::vector<Expr>& indices, Expr value);
  Stmt allocate(const Buffer* buffer, Stmt body);
  Stmt sequence(const std::vector<Stmt>& body);
  Stmt choose(Expr condition, Stmt then_branch, Stmt else_branch);

  // for (v = 0; v < extent; ++v) body(v); no loop at all if the extent is 1.
  Stmt loop(ForKind how, std::string_view name, Expr extent, const std::function<Stmt(Expr)>& body);
  Stmt loop(ForKind how, std::string_view name, int64_t extent, const std::function<Stmt(Expr)>& body) {
    return loop(how, name, index(extent), body);
  }
  // Loops one inside the other, the first one outermost.
  Stmt loops(ForKind how, std::string_view name, const std::vector<Expr>& extents,
             const std::function<Stmt(const std::vector<Expr>&)>& body);
  // One loop over all points of the space, whose body is given the coordinates.
  Stmt fused(ForKind how, std::string_view name, const std::vector<Expr>& extents,
             const std::function<Stmt(const std::vector<Expr>&)>& body);

 private:
  const Buffer* buffer(std::string_view name, DType dtype, const std::vector<Expr>& shape, Scope scope);

  ExprPool& pool_;
  std::vector<const Buffer*> temporaries_;
  std::vector<Binding> places_;  // of the axes around what is being written
  uint32_t next_buffer_;
  std::unordered_set<std::string> names_;  // of buffers and of blocks
};

// The coordinates of point `flat` of a space, in row-major order.
std::vector<Expr> unflatten(Expr flat, const std::vector<Expr>& extents);
// The number of points.
Expr product(ExprPool& pool, const std::vector<Expr>& extents);

}  // namespace relay::kernel::schedule
