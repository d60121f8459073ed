// The window that slides over the spatial axes: what convolutions and pooling have in common.
#pragma once

#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// One to three spatial axes, behind batch and channels. With one, operators of two are used on an
// axis of extent 1 in front of it; `as_image` and `as_line` go there and back.
struct Window {
  size_t axes = 2;
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> begin, end;  // padding; empty while auto_pad decides
  bool ceil_mode = false;

  // The operator for this window: that on images, also for lines, or that on volumes.
  const op::OpDef& over(const op::OpDef& images, const op::OpDef& volumes) const {
    return axes == 3 ? volumes : images;
  }
  // For that operator: with an axis of extent 1 in front if there is one axis.
  std::vector<int64_t> both(std::vector<int64_t> values, int64_t neutral) const;
  std::vector<int64_t> padding() const;  // before each axis, then behind each
};

// Reads the attributes. `kernel` is what the weight says; empty: the attribute
// kernel_shape must be there.
Window read_window(Node& n, size_t rank, std::vector<int64_t> kernel);
// Padding as auto_pad=SAME_UPPER or SAME_LOWER wants it, for this input.
void pad_to_same(Node& n, Window& w, const TensorType& x, bool upper);

Expr as_image(Node& n, Expr e, const Window& w);
Expr as_line(Node& n, Expr e, const Window& w);
// The axes of an image in another order: channels from the end to behind the batch, or back.
Expr with_channels(Node& n, Expr x, bool to_front);

}  // namespace relay::frontend
