// Unique along an axis: slices that are alike are found by comparing each with each.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// The four results of Unique for the input. Slices are in
// lexicographic order if `sorted`, else in that of their first occurrence.
Results unique_slices(Node& n, size_t axis, bool sorted);

}  // namespace relay::frontend
