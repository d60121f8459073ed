#include "op/nn/window.h"

#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "op/relation.h"

namespace relay::op {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;  // keeps what is computed from it far from the ends of 64 bits

[[noreturn]] void blame(std::string reason) { throw RelationError{kAttributes, std::move(reason)}; }

void require_at_most(std::string_view what, int64_t value, int arg = kAttributes) {
  if (value > kMost) throw RelationError{arg, cat(what, " must be at most ", kMost, ", not ", value)};
}

}  // namespace

std::array<int64_t, 2> read_sizes(std::string_view attribute, std::span<const int64_t> values) {
  if (values.size() != 1 && values.size() != 2) {
    blame(cat(attribute, " must be 1 or 2 numbers, not ", values.size()));
  }
  for (const int64_t v : values) {
    if (v < 1) blame(cat(attribute, " must be positive, not ", v));
    require_at_most(attribute, v);
  }
  return {values.front(), values.back()};
}

void require_same_layout(std::string_view out_layout, std::string_view layout) {
  if (!out_layout.empty() && out_layout != layout) {
    blame(cat("out_layout must be the layout of the data, ", layout, ", not `", out_layout, "`"));
  }
}

Dim Window::covers(size_t axis, Dim kernel) const { return (kernel - 1) * dilation[axis] + 1; }

Dim Window::count(size_t axis, Dim extent, Dim kernel, bool ceil) const {
  const Dim whole = extent + before[axis] + after[axis], span = covers(axis, kernel);
  const Dim room = whole - span;  // how far the window can move
  if (room.is_const() && room.value() < 0) {
    blame(cat("the window covers ", relay::show(span), " elements along the ", axis == 0 ? "height" : "width",
              " and the padded data has ", relay::show(whole)));
  }
  if (!ceil) return floor_div(room, stride[axis]) + 1;
  return min(ceil_div(room, stride[axis]), floor_div(extent + before[axis] - 1, stride[axis])) + 1;
}

Window read_window(std::span<const int64_t> strides, std::span<const int64_t> dilation,
                   std::span<const int64_t> padding) {
  Window out;
  out.stride = read_sizes("strides", strides);
  out.dilation = read_sizes("dilation", dilation);
  for (const int64_t p : padding) {
    if (p < 0) blame(cat("padding must not be negative, as ", p, " is"));
    require_at_most("padding", p);
  }
  switch (padding.size()) {
    case 1: out.before = out.after = {padding[0], padding[0]}; break;
    case 2: out.before = out.after = {padding[0], padding[1]}; break;
    case 4: out.before = {padding[0], padding[1]}, out.after = {padding[2], padding[3]}; break;
    default: blame(cat("padding must be 1, 2 or 4 numbers, not ", padding.size()));
  }
  return out;
}

std::array<Dim, 2> read_extents(std::string_view attribute, std::span<const Dim> values) {
  if (values.size() != 1 && values.size() != 2) {
    blame(cat(attribute, " must be 1 or 2 extents, not ", values.size()));
  }
  for (const Dim d : values) require_extent(attribute, d);
  return {values.front(), values.back()};
}

void require_extent(std::string_view what, Dim extent, int arg) {
  if (!extent.is_const()) return;
  if (extent.value() < 1) throw RelationError{arg, cat(what, " must be positive, not ", relay::show(extent))};
  require_at_most(what, extent.value(), arg);
}

std::array<int64_t, 4> strides_of(const Shape& shape, const Layout& order) {
  std::vector<int64_t> stride(4, 1);
  for (size_t d = 3; d-- > 0;) stride[d] = stride[d + 1] * shape[d + 1];
  return parts(order, stride);
}

kernel::Tensor padded(kernel::Builder& k, const kernel::Tensor& x, const Layout& layout,
                      const std::array<int64_t, 2>& before, const std::array<kernel::Expr, 2>& extents,
                      kernel::Expr fill) {
  std::vector<kernel::Expr> shape = x.shape();
  for (size_t axis = 0; axis < 2; ++axis) shape[layout.place(2 + axis)] = extents[axis];
  return k.compute("padded", x.dtype(), shape, [&](kernel::Indices i) {
    std::vector<kernel::Expr> at(i.begin(), i.end());
    kernel::Expr inside = k.constant(kBool, 1);
    for (size_t axis = 0; axis < 2; ++axis) {
      const size_t d = layout.place(2 + axis);
      if (before[axis] == 0 && extents[axis] == x.dim(d)) continue;
      at[d] = i[d] - before[axis];
      if (before[axis] != 0) inside = logical_and(inside, less_equal(k.index(0), at[d]));
      inside = logical_and(inside, less(at[d], x.dim(d)));
    }
    return select(inside, x.at(at), fill);
  });
}

}  // namespace relay::op
