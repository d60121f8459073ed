// Taps: how Resize makes one axis, where no image operator does it: each element of the result is a
// weighed sum of a few elements of the input. Where extents and scales are known, the import
// evaluates the weights; else a run does.
#pragma once

#include <string>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// How places are found along any axis.
struct ResizeForm {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One axis. Expressions are scalars of float64.
struct ResizedAxis {
  size_t axis = 0;
  Dim from = 1, to = 1;
  Expr scale = nullptr;                 // to / from, before `to` was rounded
  Expr start = nullptr, end = nullptr;  // the part of the axis that tf_crop_and_resize takes, else null
};

inline constexpr int64_t kMostTaps = 256;  // of known number

// x with this axis made anew.
Expr with_taps(Node& n, Expr x, const ResizeForm& form, const ResizedAxis& axis);

// A dim as a scalar of float64.
Expr real_extent(Node& n, Dim d);
// The expression, as a constant if the import can evaluate it.
Expr folded(Node& n, Expr e);
// The number that a scalar is, if it is a constant.
std::optional<double> number_of(Expr e);

}  // namespace relay::frontend
