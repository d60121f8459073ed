#include "op/nn/pooling.h"

#include <algorithm>

#include "base/cat.h"
#include "op/nn/fit.h"

namespace relay::op {

std::vector<kernel::Expr> Pool::extents(kernel::Builder& k) const {
  std::vector<kernel::Expr> out;
  for (const int64_t extent : size) out.push_back(k.index(extent));
  return out;
}

kernel::Expr Pool::count(kernel::Builder& k, size_t axis, kernel::Expr result, kernel::Expr extent) const {
  const bool padding = window.before[axis] != 0 || window.after[axis] != 0;
  if (!ceil && (include_pad || !padding)) return k.index(size[axis]);
  const kernel::Expr start = result * window.stride[axis] - window.before[axis];
  const int64_t step = window.dilation[axis];
  const auto up = [&](kernel::Expr distance) { return floor_div(distance + (step - 1), step); };
  const kernel::Expr low = k.index(include_pad ? -window.before[axis] : 0);
  const kernel::Expr high = include_pad ? extent + window.after[axis] : extent;
  const kernel::Expr first = max(up(low - start), k.index(0));
  const kernel::Expr last = min(up(high - start), k.index(size[axis]));
  return max(last - first, k.index(0));
}

std::pair<int64_t, int64_t> Pool::inside(size_t axis, int64_t result, int64_t low, int64_t high) const {
  const int64_t start = result * window.stride[axis] - window.before[axis], step = window.dilation[axis];
  const auto steps_to = [&](int64_t place) {  // the first element that is not before it
    return place <= start ? 0 : std::min((place - start - 1) / step + 1, size[axis]);
  };
  const int64_t first = steps_to(low);
  return {first, std::max(first, steps_to(high))};
}

int64_t Pool::count(size_t axis, int64_t result, int64_t extent) const {
  const int64_t low = include_pad ? -window.before[axis] : 0;
  const int64_t high = include_pad ? extent + window.after[axis] : extent;
  const auto [first, last] = inside(axis, result, low, high);
  return last - first;
}

kernel::Expr Pool::count(kernel::Builder& k, std::span<const kernel::Expr> result,
                         std::span<const kernel::Expr> extents) const {
  kernel::Expr out = count(k, 0, result[2], extents[2]);
  for (size_t axis = 1; axis < axes(); ++axis)
    out = out * count(k, axis, result[2 + axis], extents[2 + axis]);
  return out;
}

int64_t Pool::count(std::span<const int64_t> result, std::span<const int64_t> extents) const {
  int64_t out = 1;
  for (size_t axis = 0; axis < axes(); ++axis) out *= count(axis, result[2 + axis], extents[2 + axis]);
  return out;
}

Pool read_pool(const MaxPoolAttrs& a) {
  Pool p;
  p.layout = read_order("layout", a.layout, cat("NC", a.spatial));
  require_same_layout(a.out_layout, a.layout);
  p.window = read_window(a.strides, a.dilation, a.padding, a.spatial.size());
  p.size = read_sizes("pool_size", a.pool_size, a.spatial.size());
  int64_t elements = 1;
  for (const int64_t extent : p.size) {
    if (__builtin_mul_overflow(elements, extent, &elements))
      throw RelationError{kAttributes, "the window has more elements than 63 bits count"};
  }
  p.ceil = a.ceil_mode;
  return p;
}

Pool read_pool(const AvgPoolAttrs& a) {
  Pool p = read_pool(static_cast<const MaxPoolAttrs&>(a));
  p.include_pad = a.count_include_pad;
  return p;
}

std::vector<Dim> pooled(Relation& r, const Pool& p, const TensorType& x) {
  std::vector<Dim> dims = p.layout.extents(x.dims);
  for (size_t axis = 0; axis < p.axes(); ++axis)
    dims[2 + axis] = fitting_windows(r, p.window, axis, dims[2 + axis], p.size[axis], p.ceil);
  return p.layout.shape(dims);
}

std::vector<AttrArg> pool_attrs(const MaxPoolAttrs& a) {
  return {{"pool_size", a.pool_size}, {"strides", a.strides}, {"dilation", a.dilation},
          {"padding", a.padding},     {"layout", a.layout},   {"ceil_mode", a.ceil_mode}};
}

std::vector<AttrArg> pool_attrs(const AvgPoolAttrs& a) {
  std::vector<AttrArg> out = pool_attrs(static_cast<const MaxPoolAttrs&>(a));
  out.push_back({"count_include_pad", a.count_include_pad});
  return out;
}

void elements_of(const Pool& p, std::span<const int64_t> extents, std::span<const int64_t> step,
                 std::span<const int64_t> place, std::vector<int64_t>& out) {
  out.assign(1, place[0] * step[0] + place[1] * step[1]);
  // Axis by axis, each element that is there so far becomes those of a line, from the back, so that
  // none is written over before it was read.
  for (size_t axis = 0; axis < p.axes(); ++axis) {
    const size_t d = 2 + axis, lines = out.size();
    // A window may be much larger than the data, most of it padding.
    const auto [first, last] = p.inside(axis, place[d], 0, extents[d]);
    const auto count = static_cast<size_t>(last - first);
    const int64_t start =
        place[d] * p.window.stride[axis] + first * p.window.dilation[axis] - p.window.before[axis];
    out.resize(lines * count);
    for (size_t line = count == 0 ? 0 : lines; line-- > 0;) {
      const int64_t begin = out[line] + start * step[d];
      for (size_t k = count; k-- > 0;) {
        out[line * count + k] = begin + static_cast<int64_t>(k) * p.window.dilation[axis] * step[d];
      }
    }
  }
}

Covering covering(kernel::Builder& k, const Pool& p, kernel::Indices i, kernel::Indices r,
                  const kernel::Tensor& result) {
  std::vector<kernel::Expr> at = p.layout.coordinates(i);
  const std::vector<kernel::Expr> extents = p.layout.extents(result.shape());
  kernel::Expr exists = k.constant(kBool, 1);
  for (size_t axis = 0; axis < p.axes(); ++axis) {
    const int64_t stride = p.window.stride[axis];
    const kernel::Expr start = at[2 + axis] + p.window.before[axis] - r[axis] * p.window.dilation[axis];
    at[2 + axis] = floor_div(start, stride);
    exists = logical_and(exists, less_equal(k.index(0), start));
    exists = logical_and(exists, less(at[2 + axis], extents[2 + axis]));
    if (stride != 1) exists = logical_and(exists, equal(floor_mod(start, stride), k.index(0)));
  }
  return {p.layout.index(at), exists};
}

}  // namespace relay::op
