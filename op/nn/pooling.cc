#include "op/nn/pooling.h"

#include <algorithm>

namespace relay::op {
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

Pool read_pool(const MaxPoolAttrs& a) {
  Pool p;
  p.layout = read_order("layout", a.layout, "NCHW");
  require_same_layout(a.out_layout, a.layout);
  p.window = read_window(a.strides, a.dilation, a.padding);
  p.size = read_sizes("pool_size", a.pool_size);
  p.ceil = a.ceil_mode;
  return p;
}

Pool read_pool(const AvgPoolAttrs& a) {
  Pool p = read_pool(static_cast<const MaxPoolAttrs&>(a));
  p.include_pad = a.count_include_pad;
  return p;
}

std::vector<Dim> pooled(const Pool& p, const TensorType& x) {
  std::array<Dim, 4> dims = parts(p.layout, x.dims);
  for (size_t axis = 0; axis < 2; ++axis)
    dims[2 + axis] = p.window.count(axis, dims[2 + axis], p.size[axis], p.ceil);
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

Covering covering(kernel::Builder& k, const Pool& p, kernel::Indices i, kernel::Indices r,
                  const kernel::Tensor& result) {
  std::array<kernel::Expr, 4> at = parts(p.layout, i);
  const std::array<kernel::Expr, 4> extents = parts(p.layout, result.shape());
  kernel::Expr exists = k.constant(kBool, 1);
  for (size_t axis = 0; axis < 2; ++axis) {
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
