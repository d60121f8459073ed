// strided_slice(x, begin, end, strides)[i] = x[begin + i * strides], along some axes
//
// A bound counts from the end of its axis if it is negative, and is moved into the axis if it lies
// outside. A bound of 2^31 - 1 or more is the far end whatever the extent; so is one of at most
// -(2^31 - 1) at the near end. The same holds of symbolic bounds: which end they count from may
// only be known at run time.
#include "op/tensor/slice.h"

#include <algorithm>

#include "base/cat.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr int64_t kFar = INT32_MAX;

bool negative(Dim d) { return d.is_const() && d.value() < 0; }

// A bound counted from the front.
Dim counted_from_front(Dim bound, Dim extent) {
  if (bound.is_const()) return negative(bound) ? extent + bound : bound;
  const Dim clamped = clamp_to_zero(bound);
  if (clamped == bound) return bound;
  const Dim is_negative = min(clamp_to_zero(Dim(0) - bound), Dim(1));
  return bound + extent * is_negative;
}

SliceRange forward(size_t axis, Dim extent, Dim begin, Dim end, int64_t stride) {
  const bool to_the_end = end.is_const() && end.value() >= kFar;
  const Dim last = to_the_end      ? extent
                   : negative(end) ? extent + end
                                   : min(counted_from_front(end, extent), extent);
  const Dim first =
      begin.is_const() && !negative(begin) ? begin : clamp_to_zero(counted_from_front(begin, extent));
  // The number of positions from `first` to `last`, before any is left out; written so that the
  // extent cancels out where it can. A `first` beyond the axis gives none.
  const Dim span = negative(begin) ? min(last - extent - begin, last) : last - first;
  return {axis, first, clamp_to_zero(stride == 1 ? span : ceil_div(span, Dim(stride))), stride};
}

SliceRange backward(size_t axis, Dim extent, Dim begin, Dim end, int64_t stride) {
  const Dim last_place = extent - Dim(1);
  const auto place = [&](Dim bound) {  // in [-1, extent - 1]
    if (bound.is_const() && bound.value() >= kFar) return last_place;
    if (bound.is_const() && bound.value() <= -kFar) return Dim(-1);
    const Dim counted = counted_from_front(bound, extent);
    return negative(bound) ? max(counted, Dim(-1))
                           : min(bound.is_const() ? counted : max(counted, Dim(-1)), last_place);
  };
  const Dim first = place(begin), last = place(end);
  return {axis, first, clamp_to_zero(ceil_div(first - last, Dim(-stride))), stride};
}

}  // namespace

std::vector<SliceRange> slice_ranges(const StridedSliceAttrs& a, std::span<const Dim> extents) {
  std::vector<SliceRange> out;
  for (size_t n = 0; n < a.begin.size(); ++n) {
    const size_t axis = a.axes ? from_front((*a.axes)[n], extents.size()) : n;
    const Dim extent = extents[axis];
    if (a.slice_mode == "size") {
      const Dim begin = clamp_to_zero(counted_from_front(a.begin[n], extent));
      const Dim last = begin + a.end[n];
      const Dim end = negative(a.end[n]) || last.is_too_large() ? Dim(kFar) : last;
      out.push_back(forward(axis, extent, begin, end, 1));
      continue;
    }
    const int64_t stride =
        !a.strides || a.strides->empty() ? 1 : (*a.strides)[a.strides->size() == 1 ? 0 : n];
    out.push_back((stride > 0 ? forward : backward)(axis, extent, a.begin[n], a.end[n], stride));
  }
  return out;
}

namespace {

// (Tensor[s, d]) -> Tensor[as many along each axis as the slice takes, d]
// C1: begin, end, strides and axes have one length (strides may be a single number),
//     at most the rank.
// C2: axes are in [-rank, rank) and distinct.
// C3: strides are not 0.
// C4: slice_mode is "end" or "size".
Type relate(Relation& r, const StridedSliceAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t n = a.begin.size();
  r.require(a.slice_mode == "end" || a.slice_mode == "size", kAttributes,
            cat("slice_mode must be \"end\" or \"size\", not \"", a.slice_mode, "\""));                 // C4
  r.require(a.end.size() == n, kAttributes, cat("begin has ", n, " entries, and end ", a.end.size()));  // C1
  const bool lengths = !a.strides || a.strides->size() <= 1 || a.strides->size() == n;
  r.require(lengths, kAttributes,
            cat("begin has ", n, " entries, and strides ", lengths ? n : a.strides->size()));  // C1
  if (a.axes) {
    r.require(a.axes->size() == n, kAttributes,
              cat("begin has ", n, " entries, and axes ", a.axes->size()));  // C1
    distinct_axes(r, *a.axes, x.rank());                                     // C2
  } else {
    r.require(n <= x.rank(), kAttributes,
              cat("begin has ", n, " entries for a tensor of rank ", x.rank()));  // C1
  }
  for (int64_t s : a.strides.value_or(std::vector<int64_t>{})) {
    r.require(s != 0 && s != INT64_MIN, kAttributes, "strides must not be 0");  // C3
  }
  if (any_unknown(a.begin) || any_unknown(a.end)) r.fail(kAttributes, "bounds must not be `?`");
  std::vector<Dim> out = dims_of(x);
  for (const SliceRange& range : slice_ranges(a, x.dims)) out[range.axis] = range.size;
  return r.tensor_of(out, x.dtype);
}

void evaluate(const StridedSliceAttrs& a, Args in, Results out) {
  const std::vector<Dim> extents(in[0].shape().begin(), in[0].shape().end());
  std::vector<int64_t> begin(extents.size(), 0), stride(extents.size(), 1), from(extents.size());
  for (const SliceRange& range : slice_ranges(a, extents)) {
    begin[range.axis] = extent_of(range.begin, "a bound of strided_slice");
    stride[range.axis] = range.stride;
  }
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    for (size_t d = 0; d < from.size(); ++d) from[d] = begin[d] + i[d] * stride[d];
    return from;
  });
}

// dx is zero but at the elements that were taken: put zeros between those of dy, then around them.
std::vector<Expr> differentiate(Builder& b, const StridedSliceAttrs& a, const Site& c) {
  const TensorType& x = c.tensor(0);
  Expr dx = c.dy;
  std::vector<std::pair<Dim, Dim>> around(x.rank(), {Dim(0), Dim(0)});
  for (const SliceRange& range : slice_ranges(a, x.dims)) {
    if (range.size == Dim(0)) return {call(b, kZerosLike, {c.args[0]})};
    const auto axis = static_cast<int64_t>(range.axis);
    const int64_t step = std::abs(range.stride);
    Dim length = range.size, first = range.begin;
    if (range.stride < 0) {  // from the lowest position upwards
      dx = call(b, kReverse, {dx}, {{"axis", axis}});
      first = range.begin - (range.size - Dim(1)) * Dim(step);
    }
    if (step > 1) {
      // (..., n, ...) -> (..., n, 1, ...) -> (..., n, step, ...) -> (..., n * step, ...)
      //
      // The last zeros are left out.
      std::vector<Dim> merged = dims_of(tensor_type_of(dx));
      merged[range.axis] = length * Dim(step);
      dx = call(b, kExpandDims, {dx}, {{"axis", axis + 1}});
      std::vector<std::pair<Dim, Dim>> gaps(x.rank() + 1, {Dim(0), Dim(0)});
      gaps[range.axis + 1].second = Dim(step - 1);
      dx = call(b, kReshape, {zero_padded(b, dx, gaps)}, {{"newshape", merged}, {"allowzero", true}});
      length = (length - Dim(1)) * Dim(step) + Dim(1);
      dx = sliced(b, dx, axis, Dim(0), length);
    }
    around[range.axis] = {first, x.dims[range.axis] - first - length};
  }
  return {zero_padded(b, dx, around)};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const StridedSliceAttrs& a, const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  const std::vector<SliceRange> taken = slice_ranges(a, c.arg_types[0]->dims);
  return {k.compute("slice", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    for (const SliceRange& range : taken)
      from[range.axis] = i[range.axis] * range.stride + range.begin.expr(c.pool);
    return x.at(from);
  })};
}

}  // namespace

const OpDef kStridedSlice = define<StridedSliceAttrs>({
    .name = "strided_slice",
    .doc = "Every so many elements between two positions, along some axes.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
