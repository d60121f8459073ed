// What operators that move elements have in common.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "op/apply.h"
#include "op/define.h"
#include "runtime/tensor.h"

namespace relay::op {

// Shapes.
std::vector<Dim> dims_of(const TensorType& t);
bool any_unknown(std::span<const Dim> dims);
// max(d, 0), written as d where that is never negative.
Dim clamp_to_zero(Dim d);
// Each axis counted from the front. Fails if one is outside [-rank, rank) or given twice.
std::vector<size_t> distinct_axes(Relation& r, std::span<const int64_t> axes, size_t rank);
// An axis that was checked before, counted from the front.
inline size_t from_front(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Elements, for `evaluate`.

// Calls f(index) for each index of the shape, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  for (int64_t extent : shape) {
    if (extent <= 0) return;
  }
  std::vector<int64_t> index(shape.size());
  for (;;) {
    f(static_cast<const std::vector<int64_t>&>(index));
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}
// The place of an index in row-major order.
int64_t offset_of(const Shape& shape, std::span<const int64_t> index);
// to[j] = from[i], bit for bit; both must have one dtype.
void copy_element(const Tensor& from, int64_t i, Tensor& to, int64_t j);
// to[index] = from[where(index)] for every index of the result, bit for bit.
template <class F>
void fill_from(const Tensor& from, Tensor& to, F&& where) {
  int64_t j = 0;
  for_each_index(to.shape(), [&](const std::vector<int64_t>& index) {
    copy_element(from, offset_of(from.shape(), where(index)), to, j++);
  });
}
// Element i of a tensor of indices. One of uint64 that does not fit int64 is beyond any extent: it
// gives the largest int64.
int64_t index_of(const Tensor& indices, int64_t i);
// The value of a dim when a program runs; traps if it is not known even then.
int64_t extent_of(Dim d, std::string_view what);

// Indices, for `lower`.
std::vector<kernel::Expr> copy_of(kernel::Indices i);
// The index that stands in t at `indices`, as `index_of` gives it.
kernel::Expr index_at(const kernel::Tensor& t, kernel::Indices indices);
// Where element i of a tensor of shape `to` lies in one of shape `from` with the same elements in
// the same order. Axes that both have in common are not taken apart.
std::vector<kernel::Expr> reindex(kernel::ExprPool& pool, std::span<const Dim> from, std::span<const Dim> to,
                                  kernel::Indices i);

// Expressions, for `differentiate` and `expand`.

// A constant of rank 0.
Expr scalar_of(Builder& b, DType dtype, double value);
// x in the shape of `like`; both hold equally many elements.
Expr in_shape_of(Builder& b, Expr x, Expr like);
// x as numpy repeats it to the shape of `like`, where only a run tells whether it can; x itself
// where that is known.
Expr sure_to_broadcast(Builder& b, Expr x, Expr like);
Expr transposed(Builder& b, Expr x, const std::vector<int64_t>& axes);  // x itself if the axes are in order
Expr sliced(Builder& b, Expr x, int64_t axis, Dim begin, Dim end);
Expr zero_padded(Builder& b, Expr x,
                 const std::vector<std::pair<Dim, Dim>>& axes);  // x itself if there is nothing to add
inline const TensorType& tensor_type_of(Expr e) { return *e->type->as<TensorType>(); }

}  // namespace relay::op
