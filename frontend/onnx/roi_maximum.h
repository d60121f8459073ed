// RoiAlign with mode=max. ONNX takes the largest of the weighed pixels around all places of a bin,
// and not of the values between pixels, which is what the operator has.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

struct RoiBins {
  int64_t height = 1, width = 1;  // of the result
  int64_t ratio = 1;              // places along each side of a bin
  double scale = 1;               // from the regions to pixels
  bool half_pixel = true;
};
// Of images (n, c, h, w), regions (r, 4) and the image of each: (r, c, height, width).
Expr roi_maximum(Node& n, Expr images, Expr regions, Expr image_of, const RoiBins& bins);

}  // namespace relay::frontend
