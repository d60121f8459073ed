// Windows over images: what convolution and pooling in two dimensions share. Axis 0 is the
// height, 1 the width.
#pragma once

#include <array>
#include <span>
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

// How a window moves.
struct Window {
  std::array<int64_t, 2> stride = {1, 1}, dilation = {1, 1}, before = {0, 0}, after = {0, 0};

  bool pads() const { return before[0] != 0 || before[1] != 0 || after[0] != 0 || after[1] != 0; }
  // The extent that a window of `kernel` elements covers: (kernel - 1) * dilation + 1.
  Dim covers(size_t axis, Dim kernel) const;
  // How many windows fit; with `ceil`, also one that starts inside of the data or the padding
  // before it and ends outside of the padding. Fails if the window is larger than the padded data.
  Dim count(size_t axis, Dim extent, Dim kernel, bool ceil = false) const;
  // The attribute `padding`: top, left, bottom, right.
  std::vector<int64_t> padding() const { return {before[0], before[1], after[0], after[1]}; }
  std::vector<int64_t> strides() const { return {stride[0], stride[1]}; }
  std::vector<int64_t> dilations() const { return {dilation[0], dilation[1]}; }
};

// Reads the attributes: strides and dilation of 1 or 2 numbers, padding of 1 (all sides), 2 (top
// and bottom, left and right) or 4 (top, left, bottom, right). Throws a RelationError for others,
// and for strides below 1.
Window read_window(std::span<const int64_t> strides, std::span<const int64_t> dilation,
                   std::span<const int64_t> padding);
// An attribute of two extents, or of one that stands for both; the first are known, positive
// and not above 2^31.
std::array<int64_t, 2> read_sizes(std::string_view attribute, std::span<const int64_t> values);
std::array<Dim, 2> read_extents(std::string_view attribute, std::span<const Dim> values);
// Fails for an extent of a window that is known and not positive, or absurdly large.
void require_extent(std::string_view what, Dim extent, int arg = kAttributes);

// The strides of a tensor's axes in their plain order.
std::array<int64_t, 4> strides_of(const Shape& shape, const Layout& order);

// To lower: x with `before` elements in front of height and width and as many behind that they
// reach `extents`.
kernel::Tensor padded(kernel::Builder& k, const kernel::Tensor& x, const Layout& layout,
                      const std::array<int64_t, 2>& before, const std::array<kernel::Expr, 2>& extents,
                      kernel::Expr fill);

}  // namespace relay::op
