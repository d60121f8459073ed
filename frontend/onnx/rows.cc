#include "frontend/onnx/rows.h"

#include <algorithm>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/sequences.h"

namespace relay::frontend {

using namespace op;

CollectedRows::CollectedRows(Node& n, std::string_view name, const std::vector<Dim>& dims, DType dtype,
                             bool backwards)
    : n_(n), nothing_(dims), backwards_(backwards) {
  open_ = std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.is_unknown(); });
  std::replace_if(nothing_.begin(), nothing_.end(), [](Dim d) { return d.is_unknown(); }, Dim(0));
  nothing_.insert(nothing_.begin(), Dim(0));
  std::vector<Dim> some = dims;
  some.insert(some.begin(), Dim::unknown());
  part_ = n.context().tensor_type(some, dtype);
  list_ = n.builder().var(name, n.importer().library_type("List", part_));
}

Expr CollectedRows::cons(Expr part, Expr rest) {
  Builder& b = n_.builder();
  return b.call(b.ctor(*n_.importer().library_constructor("Cons")), {widened(b, part, part_), rest}, {},
                list_->type);
}

// No rows are an element of the list, so that it is never empty.
Expr CollectedRows::none() {
  Builder& b = n_.builder();
  const DType dtype = part_->as<TensorType>()->dtype;
  const Expr nil = b.call(b.ctor(*n_.importer().library_constructor("Nil")), {}, {}, list_->type);
  return cons(n_.call(kZeros, std::span<const Expr>(), {{"shape", nothing_}, {"dtype", dtype}}), nil);
}

// Of open extents, the rows before the first step have others: they go.
Expr CollectedRows::with(Expr row, Expr step) {
  Builder& b = n_.builder();
  const Expr part = n_.expand_dims(row, 0);
  const Expr more = cons(part, list_);
  if (!open_) return more;
  const Expr nil = b.call(b.ctor(*n_.importer().library_constructor("Nil")), {}, {}, list_->type);
  const Expr is_first = n_.call(kEqual, {step, b.constant(Tensor::scalar_int(kInt64, 0))});
  return b.with_type(b.if_(is_first, cons(part, nil), more), list_->type);
}

// The list begins with the last row.
Expr CollectedRows::joined(Expr list) {
  Builder& b = n_.builder();
  const Var *later = b.var("later", part_), *earlier = b.var("earlier", part_);
  const Expr both = backwards_ ? n_.concatenate({later, earlier}, 0) : n_.concatenate({earlier, later}, 0);
  const Expr join = b.with_type(b.fn(std::vector{later, earlier}, both, part_),
                                n_.context().fn_type({}, std::vector<Type>{part_, part_}, part_));
  return n_.importer().library_call("tensor_array_join", {join, list}, part_);
}

}  // namespace relay::frontend
