// The window that slides over the spatial axes: what convolutions and pooling have in common.
#pragma once

#include <utility>
#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// One to three spatial axes, behind batch and channels. With one, operators of two are used on an
// axis of extent 1 in front of it; `as_image` and `as_line` go there and back.
struct Window {
  size_t axes = 2;
  std::vector<int64_t> kernel;  // empty if a run alone knows the extents of the weight
  std::vector<Dim> extents;     // of the kernel, also where a run alone knows them
  std::vector<int64_t> strides, dilations;
  std::vector<int64_t> begin, end;  // padding of the operator; empty while auto_pad decides
  // What no attribute holds, before and behind each axis: padding that only a run knows, and
  // elements that negative padding cuts off. `with_room` applies it. Empty if there is none.
  std::vector<std::pair<Dim, Dim>> room;
  bool ceil_mode = false;

  // The operator for this window: that on images, also for lines, or that on volumes.
  const op::OpDef& over(const op::OpDef& images, const op::OpDef& volumes) const {
    return axes == 3 ? volumes : images;
  }
  // For that operator: with an axis of extent 1 in front if there is one axis.
  std::vector<int64_t> both(std::vector<int64_t> values, int64_t neutral) const;
  std::vector<int64_t> padding() const;  // before each axis, then behind each
  // The elements along an axis from the first to the last one of a window.
  Dim reach(size_t axis) const { return (extents[axis] - Dim(1)) * Dim(dilations[axis]) + Dim(1); }
};

// Reads the attributes. `kernel` is what the weight says; empty: the attribute
// kernel_shape must be there.
Window read_window(Node& n, size_t rank, std::vector<int64_t> kernel);
// The same where a run alone knows the kernel, whose extents are symbols.
Window read_open_window(Node& n, size_t rank, std::vector<Dim> extents);
// Sets the padding for this input if auto_pad decides.
void settle_padding(Node& n, Window& w, const TensorType& x);
// x, padded by a scalar and cut as the window's `room` says: what the operator is called with.
Expr with_room(Node& n, const Window& w, Expr x, Expr outside);

Expr as_image(Node& n, Expr e, const Window& w);
Expr as_line(Node& n, Expr e, const Window& w);
// The axes of an image in another order: channels from the end to behind the batch, or back.
Expr with_channels(Node& n, Expr x, bool to_front);

}  // namespace relay::frontend
