// What the tensors of a kernel hold while its steps run, as tensors of another kernel.
//
// Each step makes a new version of the tensor that it writes. So whoever differentiates the steps
// can read what a step read, whatever was written over later. Versions that nobody needs are left
// out by Builder::finish.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/builder.h"
#include "kernel/index_inverse.h"
#include "kernel/steps.h"

namespace relay::kernel {

using ExprMap = std::unordered_map<const ExprNode*, Expr>;
using Versions = std::unordered_map<const Buffer*, Tensor>;  // what each buffer holds; none: zeros

std::vector<Expr> shape_of(const Buffer& b);
std::vector<Expr> extents(const std::vector<StepAxis>& axes);
// From here on the axes are these.
void bind(ExprMap& by, const std::vector<StepAxis>& axes, Indices to);
// The extents of loops over the step's axes that look at an element of a tensor of this shape in
// each round, the first one where a condition does not hold: no rounds if it has no elements.
std::vector<Expr> guarded_extents(const Step& s, const std::vector<Expr>& shape);
// Of steps whose place is an axis for each dim, or 0: the axes of the element i.
ExprMap at_place(const Step& s, Indices i);

class StepVersions {
 public:
  StepVersions(ExprPool& pool, Builder& b) : pool_(pool), b_(b) {}

  const Versions& now() const { return now_; }
  // A tensor of the kernel that is made. Expressions that load it stay as they are.
  Tensor keep(Tensor t);
  Tensor compute(std::string_view name, const Buffer& like, const std::function<Expr(Indices)>& f);
  void set_input(const Buffer* b, Tensor t) { now_[b] = keep(t); }
  // Writes down what the step does, with what the steps before made.
  void run(const Step& s) { now_[s.buffer] = made_by(s); }

  // The expression with axes replaced, of these versions of tensors. Loads of the buffer `self`, if
  // it is given, are those of `own`.
  Expr local(Expr e, const ExprMap& by, const Versions& versions, const Buffer* self = nullptr,
             const Tensor* own = nullptr) const;
  std::vector<Expr> local_all(const std::vector<Expr>& es, const ExprMap& by, const Versions& versions) const;
  // When the element i of the step's buffer is accessed, and the axes of the iteration that does.
  // `p`: what the inverse calls the element. The inverse is asked before the step's conditions, so
  // these guard no data that it needs.
  std::pair<std::vector<Expr>, ExprMap> accessor_of(const Step& s, const IndexInverse& inverse,
                                                    const std::vector<Expr>& p, Indices i,
                                                    const Versions& versions) const;
  // What a sum or an extremum makes of a buffer, of the versions of now. `begin`: the constant that
  // all elements are before; null: they are those of the last version.
  Tensor reduction(const Step& s, Expr begin);
  // Variables for the dims of an element.
  std::vector<Expr> element_variables(size_t rank) const;

 private:
  Tensor made_by(const Step& s);
  std::optional<Tensor> part_written(const Step& s);
  Tensor updated(const Step& s);
  Expr element(const Versions& versions, const Buffer* b, Indices i) const;
  std::vector<Expr> where(const Step& s, Indices r) const;

  ExprPool& pool_;
  Builder& b_;
  Versions now_;
  std::unordered_map<const Buffer*, Expr> constants_;  // that all elements now are
  std::unordered_map<const Buffer*, Tensor> made_;     // buffers of the new kernel
};

}  // namespace relay::kernel
