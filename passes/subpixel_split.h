// The subpixel split: a transposed convolution as ordinary ones. Of the results along an axis,
// those that lie a stride apart see the same elements of the window, so that each such phase is a
// convolution of the data, and nothing is multiplied by the zeros in between:
//
//   y[a*s + r] = the sum of x[a + d] * w[r + p - d*s] over all d
//
// for each phase r < s, with a window w and p in front.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/tensor.h"

namespace relay::passes {

struct TransposedConvolution {
  std::array<int64_t, 2> stride, padding;  // height and width; of the padding only what is in front
  std::array<int64_t, 2> data, results;    // extents of the images
};

struct SubpixelConvolution {
  Tensor weight;                   // OIHW
  std::array<int64_t, 4> padding;  // top, left, bottom, right
};

struct SubpixelSplit {
  std::array<int64_t, 2> count;  // down and across
  std::array<int64_t, 2>
      extents;  // of the results of each; all of them together may be more than there are results
  // One for each phase, row by row; or a single one for all, with the channels of the
  // first phase first.
  std::vector<SubpixelConvolution> convolutions;
};

// `weight`: float32, IOHW. `block`: results are computed for this many channels at a time, by which
// the form is chosen.
SubpixelSplit split_subpixels(const TransposedConvolution& c, const Tensor& weight, int64_t block);

}  // namespace relay::passes
