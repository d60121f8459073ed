// What a convolution costs, by which its algorithm is chosen: processor cycles of one core,
// from operations and from what has to come through the caches. Estimates for comparison,
// not predictions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integers.h"

namespace relay::passes {

struct ConvolutionShape {
  int64_t batch, out_channels, in_channels, window, height, width;  // of the result; the window is square
};

namespace cost {

constexpr double kProductsPerCycle = 2;            // vectors
constexpr double kNearBytesPerCycle = 32;          // from the second-level cache
constexpr double kFarBytesPerCycle = 8;            // from behind it
constexpr double kNearCache = 1.25 * 1024 * 1024;  // what may be in use of it
constexpr double kTransformCycles = 110;           // of a tile of 6 x 6 vectors, loads and stores included

inline double transfer(double bytes) {
  return bytes / (bytes > kNearCache ? kFarBytesPerCycle : kNearBytesPerCycle);
}

}  // namespace cost

// As it is written. `lanes`: floats in a vector.
inline double direct_cycles(const ConvolutionShape& c, int64_t lanes) {
  const double weights = static_cast<double>(c.out_channels * c.in_channels * c.window * c.window);
  const double pixels = static_cast<double>(c.batch * c.height * c.width);
  return weights * pixels / (cost::kProductsPerCycle * static_cast<double>(lanes)) +
         cost::transfer(4 * weights);
}

// By Winograd's minimal filtering, for tiles of m x m results. What the transforms leave is
// written and read once.
inline double winograd_cycles(const ConvolutionShape& c, int64_t lanes, int64_t m) {
  const int64_t n = m + c.window - 1;
  const double tiles = static_cast<double>(c.batch * ceil_div(c.height, m) * ceil_div(c.width, m)),
               points = static_cast<double>(n * n);
  const double weights = points * static_cast<double>(c.out_channels * c.in_channels);
  const double vectors =
      static_cast<double>(ceil_div(c.in_channels, lanes) + ceil_div(c.out_channels, lanes));
  const double bytes = 2 * 4 * points * tiles * vectors * static_cast<double>(lanes);
  return weights * tiles / (cost::kProductsPerCycle * static_cast<double>(lanes)) +
         tiles * vectors * cost::kTransformCycles * points / 36 + cost::transfer(bytes) +
         cost::transfer(4 * weights);
}

}  // namespace relay::passes
