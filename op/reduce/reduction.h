// Reductions: which axes, which shape, which elements; shared by the operators of this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "op/define.h"
#include "op/term.h"

namespace relay::op {

struct ReduceAttrs {
  std::optional<std::vector<int64_t>> axis;
  bool keepdims = false;
  bool exclude = false;
  static constexpr auto kFields = fields(
      field("axis", &ReduceAttrs::axis, "the axes to reduce, from the end if negative; None is all of them"),
      field("keepdims", &ReduceAttrs::keepdims, "keep a reduced axis, with extent 1"),
      field("exclude", &ReduceAttrs::exclude, "reduce all axes but those of `axis`"));
};

// For each axis of a tensor whether it is reduced. Throws RelationError for an axis that is out of
// range or named twice.
std::vector<bool> reduced_axes(const ReduceAttrs& a, size_t rank);

// The shape of the result.
template <class T>
std::vector<T> reduced_shape(std::span<const T> shape, const std::vector<bool>& reduced, bool keepdims) {
  std::vector<T> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) {
      out.push_back(shape[d]);
    } else if (keepdims) {
      out.push_back(T(1));
    }
  }
  return out;
}
Type reduced_type(Relation& r, const ReduceAttrs& a, DType dtype);

// Result number o is made of the elements start[o] + step[r] of x, for all r, in order.
struct Groups {
  std::vector<int64_t> start, step;
};
Groups groups(const Shape& shape, const std::vector<bool>& reduced);

// To lower: the extents that are reduced, and the element of x for indices of the result and
// of the reduction.
std::vector<kernel::Expr> reduced_extents(const kernel::Tensor& x, const std::vector<bool>& reduced);
kernel::Expr reduced_at(const kernel::Tensor& x, const std::vector<bool>& reduced, bool keepdims,
                        kernel::Indices i, kernel::Indices r);

// The dtype that a sum of many is computed in.
inline DType accumulator(DType d) { return d.is_float() && d.bits < 32 ? kFloat32 : d; }

// To differentiate: something of the result's shape, with the reduced axes put back, as large as x.
Term spread(Builder& b, const ReduceAttrs& a, Expr y, Expr x);
// A tensor of ones, as large as x.
Expr ones_like(Builder& b, Expr x);
// The number of elements that each result is made of, as a scalar of x's dtype or a tensor that
// broadcasts with x.
Term count(Builder& b, const ReduceAttrs& a, Expr x);
// The attributes of a call.
std::vector<AttrArg> arguments(const ReduceAttrs& a);

// The length of the sum, for tolerances; A is ReduceAttrs or derived from it.
int64_t reduced_length(const ReduceAttrs& a, const TensorType& x);
template <class A>
int64_t reduced_length(std::span<const Type> args, const Attrs& attrs) {
  return reduced_length(read_attrs<A>(attrs), *args[0]->as<TensorType>());
}

}  // namespace relay::op
