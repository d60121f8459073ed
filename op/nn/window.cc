#include "op/nn/window.h"

#include <algorithm>
#include <array>

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

// How many values an attribute may have: "strides must be 1 or 3 numbers, not 2".
void require_count(std::string_view attribute, size_t found, std::vector<size_t> allowed,
                   std::string_view what) {
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  std::string counts;
  for (const size_t n : allowed) {
    if (n == found) return;
    counts += cat(counts.empty() ? "" : n == allowed.back() ? " or " : ", ", n);
  }
  blame(cat(attribute, " must be ", counts, " ", what, allowed == std::vector<size_t>{1} ? "" : "s", ", not ",
            found));
}

template <class T>
std::vector<T> one_for_each(std::span<const T> values, size_t axes) {
  return values.size() == axes ? std::vector<T>(values.begin(), values.end())
                               : std::vector<T>(axes, values.front());
}

}  // namespace

std::string_view name_of_axis(size_t axis, size_t axes) {
  constexpr std::array<std::string_view, 3> kNames{"depth", "height", "width"};
  return kNames.at(kNames.size() - axes + axis);
}

std::vector<int64_t> read_sizes(std::string_view attribute, std::span<const int64_t> values, size_t axes) {
  require_count(attribute, values.size(), {1, axes}, "number");
  for (const int64_t v : values) {
    if (v < 1) blame(cat(attribute, " must be positive, not ", v));
    require_at_most(attribute, v);
  }
  return one_for_each(values, axes);
}

void require_same_layout(std::string_view out_layout, std::string_view layout) {
  if (!out_layout.empty() && out_layout != layout) {
    blame(cat("out_layout must be the layout of the data, ", layout, ", not `", out_layout, "`"));
  }
}

bool Window::pads() const {
  const auto any = [](const std::vector<int64_t>& v) {
    return std::any_of(v.begin(), v.end(), [](int64_t p) { return p != 0; });
  };
  return any(before) || any(after);
}

std::vector<int64_t> Window::padding() const {
  std::vector<int64_t> out = before;
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

Dim Window::covers(size_t axis, Dim kernel) const { return (kernel - 1) * dilation[axis] + 1; }

Dim Window::count(size_t axis, Dim extent, Dim kernel, bool ceil) const {
  const Dim whole = extent + before[axis] + after[axis], span = covers(axis, kernel);
  const Dim room = whole - span;  // how far the window can move
  if (room.is_const() && room.value() < 0) {
    blame(cat("the window covers ", relay::show(span), " elements along the ", name_of_axis(axis, axes()),
              " and the padded data has ", relay::show(whole)));
  }
  if (!ceil) return floor_div(room, stride[axis]) + 1;
  return min(ceil_div(room, stride[axis]), floor_div(extent + before[axis] - 1, stride[axis])) + 1;
}

Window read_window(std::span<const int64_t> strides, std::span<const int64_t> dilation,
                   std::span<const int64_t> padding, size_t axes) {
  Window out;
  out.stride = read_sizes("strides", strides, axes);
  out.dilation = read_sizes("dilation", dilation, axes);
  for (const int64_t p : padding) {
    if (p < 0) blame(cat("padding must not be negative, as ", p, " is"));
    require_at_most("padding", p);
  }
  require_count("padding", padding.size(), {1, axes, 2 * axes}, "number");
  const bool both = padding.size() == 2 * axes;
  out.before = one_for_each(both ? padding.first(axes) : padding, axes);
  out.after = one_for_each(both ? padding.last(axes) : padding, axes);
  return out;
}

std::vector<Dim> read_extents(std::string_view attribute, std::span<const Dim> values, size_t axes) {
  require_count(attribute, values.size(), {1, axes}, "extent");
  for (const Dim d : values) require_extent(attribute, d);
  return one_for_each(values, axes);
}

void require_extent(std::string_view what, Dim extent, int arg) {
  if (!extent.is_const()) return;
  if (extent.value() < 1) throw RelationError{arg, cat(what, " must be positive, not ", relay::show(extent))};
  require_at_most(what, extent.value(), arg);
}

std::vector<int64_t> strides_of(const Shape& shape, const Layout& order) {
  std::vector<int64_t> stride(shape.size(), 1), out;
  for (size_t d = shape.size() - 1; d-- > 0;) stride[d] = stride[d + 1] * shape[d + 1];
  for (size_t axis = 0; axis < order.axes(); ++axis) out.push_back(stride[order.place(axis)]);
  return out;
}

kernel::Tensor padded(kernel::Builder& k, const kernel::Tensor& x, const Layout& layout,
                      std::span<const int64_t> before, std::span<const kernel::Expr> extents,
                      kernel::Expr fill) {
  std::vector<kernel::Expr> shape = x.shape();
  for (size_t axis = 0; axis < extents.size(); ++axis) shape[layout.place(2 + axis)] = extents[axis];
  return k.compute("padded", x.dtype(), shape, [&](kernel::Indices i) {
    std::vector<kernel::Expr> at(i.begin(), i.end());
    kernel::Expr inside = k.constant(kBool, 1);
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const size_t d = layout.place(2 + axis);
      if (before[axis] == 0 && extents[axis] == x.dim(d)) continue;
      at[d] = i[d] - before[axis];
      if (before[axis] != 0) inside = logical_and(inside, less_equal(k.index(0), at[d]));
      inside = logical_and(inside, less(at[d], x.dim(d)));
    }
    return select(inside, x.at(at), fill);
  });
}

std::vector<kernel::Expr> padded_extents(const kernel::Tensor& x, const Layout& layout, const Window& w) {
  std::vector<kernel::Expr> out;
  for (size_t axis = 0; axis < w.axes(); ++axis)
    out.push_back(x.dim(layout.place(2 + axis)) + (w.before[axis] + w.after[axis]));
  return out;
}

}  // namespace relay::op
