// Builder: writes down what a kernel computes, one tensor at a time; how it is computed is
// left to a schedule.
//
// An operator's `lower` receives its inputs as Tensors and returns its results as Tensors:
//
//   // y[n, u] = sum_k x[n, k] * w[u, k]
//   return {k.reduce("dense", kFloat32, {n, units}, {width}, k.sum(kFloat32),
//                    [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); })};
//
// Each compute/reduce becomes one block in the finished kernel; elementwise ones are inlined by the
// schedule. Padding is best a compute of its own, not a condition in the body of a reduction, which
// would keep that from being vectorised.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

using Indices = std::span<const Expr>;

// A tensor inside a kernel under construction: an input or the result of a computation.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Buffer* buffer, ExprPool* pool) : buffer_(buffer), pool_(pool) {}

  const Buffer* buffer() const { return buffer_; }
  DType dtype() const { return buffer_->dtype; }
  size_t rank() const { return buffer_->shape.size(); }
  Expr dim(size_t i) const { return buffer_->shape[i]; }
  std::vector<Expr> shape() const { return {buffer_->shape.begin(), buffer_->shape.end()}; }

  // The element at the indices; there must be `rank()` of them, of dtype int64.
  Expr at(Indices indices) const { return pool_->load(buffer_, {indices.begin(), indices.end()}); }
  template <class... I>
  Expr operator()(I... indices) const {
    return pool_->load(buffer_, {Expr(indices)...});
  }

 private:
  const Buffer* buffer_ = nullptr;
  ExprPool* pool_ = nullptr;
};

// How a reduction begins and goes on.
struct Reducer {
  Expr init;
  std::function<Expr(Expr so_far, Expr next)> combine;
};

class Builder {
 public:
  explicit Builder(ExprPool& pool, uint32_t first_buffer_id = 0)
      : pool_(pool), next_buffer_(first_buffer_id) {}

  Tensor input(std::string_view name, DType dtype, std::vector<Expr> shape);

  // t[i...] = f(i)
  Tensor compute(std::string_view name, DType dtype, std::vector<Expr> shape,
                 const std::function<Expr(Indices i)>& f);
  // t[i...] = combine over r in extents of f(i, r), in row-major order of r
  Tensor reduce(std::string_view name, DType dtype, std::vector<Expr> shape, std::vector<Expr> extents,
                const Reducer& reducer, const std::function<Expr(Indices i, Indices r)>& f);
  // A sequential computation that is neither: t starts as init(i); then for r in extents, in
  // row-major order, the element at `where(r)` is replaced by `update(r)`, which may read t itself
  // (scatter, cumulative sums).
  Tensor update(std::string_view name, DType dtype, std::vector<Expr> shape,
                const std::function<Expr(Indices i)>& init, std::vector<Expr> extents,
                const std::function<std::vector<Expr>(Indices r)>& where,
                const std::function<Expr(Tensor self, Indices r)>& value);

  // What another kernel computes of these inputs, one tensor for each of its outputs: its nests
  // become nests of this kernel. It is in canonical form (kernel/schedule/canonical_form.h) and
  // begins with no requirement. `extents` has the values of its shape variables.
  std::vector<Tensor> take_over(const Kernel& k, std::span<const Tensor> inputs,
                                const std::unordered_map<const ExprNode*, Expr>& extents);

  // Inside the functions above: the element may be computed only if the condition holds, else the
  // kernel fails. The message names the operator that is being lowered, as the interpreter's does:
  // "`divide`: integer division by zero".
  void require(Expr condition, std::string_view message);
  // The same for what a relation asks of shapes.
  void require_shape(Expr condition, std::string_view message);
  // Whose requirements the next ones are.
  void set_operator(std::string_view name) { operator_ = name; }

  // Constants.
  Expr index(int64_t value) { return pool_.integer(value); }
  Expr constant(DType dtype, double value) { return pool_.constant(value, dtype); }
  Expr lowest(DType dtype);   // -inf, or the smallest integer
  Expr highest(DType dtype);  // +inf, or the largest integer

  Reducer sum(DType dtype);
  Reducer product(DType dtype);
  Reducer maximum(DType dtype);
  Reducer maximum_of_numbers(DType dtype);  // NaN is left out
  Reducer minimum(DType dtype);
  Reducer all();
  Reducer any();

  ExprPool& pool() { return pool_; }

  // The finished kernel: one block after the other in the order they were written. What no output
  // needs is left out; computed tensors that are not outputs become temporaries. Inputs are those
  // made by `input`, all of them.
  Kernel finish(std::string_view name, std::string_view origin, const std::vector<Tensor>& outputs);

 private:
  struct Stage {
    const Buffer* buffer;
    Stmt stmt;
  };
  void add_requirement(Expr condition, std::string_view kind, std::string_view message);
  const Buffer* new_buffer(std::string_view name, DType dtype, std::vector<Expr> shape);

  ExprPool& pool_;
  uint32_t next_buffer_;
  std::string operator_;  // empty: of none
  std::vector<const Buffer*> inputs_;
  std::vector<Stage> stages_;
  std::vector<Stmt> requirements_;  // collected while a function above runs
};

}  // namespace relay::kernel
