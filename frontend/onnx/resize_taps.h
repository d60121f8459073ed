// Taps: how Resize makes one axis of known extents, where no image operator does it: each element
// of the result is a weighed sum of a few elements of the input. All weights are known at import.
#pragma once

#include <string>
#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// One axis, and how its places are found.
struct ResizedAxis {
  int64_t from = 1, to = 1;
  double scale = 1;           // to / from, before `to` was rounded
  double start = 0, end = 1;  // the part of the axis that tf_crop_and_resize takes
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
};

struct Taps {
  // places[t][i] and weights[t][i]: the element that tap t takes for element i of the result.
  std::vector<std::vector<int64_t>> places;
  std::vector<std::vector<double>> weights;
  std::vector<bool> outside;  // elements that get the extrapolation value; empty: none

  bool one() const { return places.size() == 1; }  // each element is one of the input
};

// Where element i of the result lies in the input.
double place_of(const ResizedAxis& axis, int64_t i);
// Nullopt if an element needs more than kMostTaps others, or a number of them that is none.
inline constexpr int64_t kMostTaps = 256;
std::optional<Taps> taps_of(const ResizedAxis& axis);

// x with this axis made anew.
Expr with_taps(Node& n, Expr x, size_t axis, const Taps& taps, double extrapolation);

}  // namespace relay::frontend
