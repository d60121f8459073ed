// Windows over the spatial axes of data: what convolution and pooling share.
//
// The spatial axes are those of a layout behind batch and channels: the width, the height and
// width, or the depth, height and width.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"
#include "kernel/builder.h"
#include "op/define.h"
#include "op/layout.h"
#include "runtime/tensor.h"

namespace relay::op {

// Throws a RelationError unless the result has the layout of the data.
void require_same_layout(std::string_view out_layout, std::string_view layout);

// The name of one of so many spatial axes: the second of three is the height.
std::string_view name_of_axis(size_t axis, size_t axes);

// How a window moves: a number for each spatial axis.
struct Window {
  std::vector<int64_t> stride, dilation, before, after;

  size_t axes() const { return stride.size(); }
  bool pads() const;
  // The extent that a window of `kernel` elements covers: (kernel - 1) * dilation + 1.
  Dim covers(size_t axis, Dim kernel) const;
  // How many windows fit; with `ceil`, also one that starts inside of the data or the padding
  // before it and ends outside of the padding. Fails if the window is larger than the padded data.
  Dim count(size_t axis, Dim extent, Dim kernel, bool ceil = false) const;
  // The attribute `padding`: before each axis, then behind each.
  std::vector<int64_t> padding() const;
};

// Reads the attributes of a window over so many axes: strides and dilation of 1 number or one for
// each axis, padding of 1 (all sides), one for each axis (both sides) or twice as many (before each
// axis, then behind each). Throws a RelationError for others, and for strides below 1.
Window read_window(std::span<const int64_t> strides, std::span<const int64_t> dilation,
                   std::span<const int64_t> padding, size_t axes = 2);
// An attribute with an extent for each axis, or one that stands for all; the first are known,
// positive and not above 2^31.
std::vector<int64_t> read_sizes(std::string_view attribute, std::span<const int64_t> values, size_t axes = 2);
std::vector<Dim> read_extents(std::string_view attribute, std::span<const Dim> values, size_t axes = 2);
// Fails for an extent of a window that is known and not positive, or absurdly large.
void require_extent(std::string_view what, Dim extent, int arg = kAttributes);

// The strides of a tensor's axes in their plain order.
std::vector<int64_t> strides_of(const Shape& shape, const Layout& order);

// To lower: x with `before` elements in front of each spatial axis and as many behind that they
// reach `extents`.
kernel::Tensor padded(kernel::Builder& k, const kernel::Tensor& x, const Layout& layout,
                      std::span<const int64_t> before, std::span<const kernel::Expr> extents,
                      kernel::Expr fill);
// The extents of x's spatial axes with the window's padding.
std::vector<kernel::Expr> padded_extents(const kernel::Tensor& x, const Layout& layout, const Window& w);

}  // namespace relay::op
