// What a convolution costs, by which its algorithm is chosen: processor cycles of one core,
// from operations and from what has to come through the caches. Estimates for comparison,
// not predictions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/integers.h"
#include "target/target.h"

namespace relay::passes {

struct ConvolutionShape {
  int64_t batch, out_channels, in_channels, window, height, width;  // of the result; the window is square
};

namespace cost {

constexpr double kTransformCycles = 110;  // of a tile of 6 x 6 vectors, loads and stores included
constexpr double kLayoutCycles = 1.2;     // of an element that goes into blocks or back
// The share of its products that a core reaches in a convolution in groups: on blocks, and on plain
// images with windows or without, which go through panels. Measured on an Intel Xeon with AVX-512,
// for groups of 4 to 80 channels and images of 28 x 28 and 56 x 56.
constexpr double kShareInBlocks = 0.8, kShareOfWindows = 0.42, kShareOfPoints = 0.65;

// Bytes that are in use come from the second-level cache if nearly all of them stay in it.
inline double transfer(double bytes, const target::Cpu& cpu) {
  const bool is_far = bytes > 1.25 * static_cast<double>(cpu.l2.bytes);
  return bytes / static_cast<double>((is_far ? cpu.l3 : cpu.l2).bytes_per_cycle);
}

// Products of vectors, element by element, and their sums.
inline double products(double elements, const target::Cpu& cpu) {
  return elements / static_cast<double>(cpu.products_per_cycle * cpu.lanes());
}

}  // namespace cost

// As it is written.
inline double direct_cycles(const ConvolutionShape& c, const target::Cpu& cpu) {
  const double weights = static_cast<double>(c.out_channels * c.in_channels * c.window * c.window);
  const double pixels = static_cast<double>(c.batch * c.height * c.width);
  return cost::products(weights * pixels, cpu) + cost::transfer(4 * weights, cpu);
}

// By Winograd's minimal filtering, for tiles of m x m results. What the transforms leave is
// written and read once.
inline double winograd_cycles(const ConvolutionShape& c, const target::Cpu& cpu, int64_t m) {
  const int64_t n = m + c.window - 1, lanes = cpu.lanes();
  const double tiles = static_cast<double>(c.batch * ceil_div(c.height, m) * ceil_div(c.width, m)),
               points = static_cast<double>(n * n);
  const double weights = points * static_cast<double>(c.out_channels * c.in_channels);
  const double vectors =
      static_cast<double>(ceil_div(c.in_channels, lanes) + ceil_div(c.out_channels, lanes));
  const double bytes = 2 * 4 * points * tiles * vectors * static_cast<double>(lanes);
  return cost::products(weights * tiles, cpu) + tiles * vectors * cost::kTransformCycles * points / 36 +
         cost::transfer(bytes, cpu) + cost::transfer(4 * weights, cpu);
}

// A convolution in groups.
struct GroupedConvolution {
  int64_t out_channels;  // of a group
  double products;       // of numbers, in all
  bool windows;          // of several places, or with strides
};

// In vectors of channels of one group. Infinite if there are none.
inline double cycles_in_blocks(const GroupedConvolution& c, const target::Cpu& cpu) {
  const int64_t lanes = std::gcd(c.out_channels, cpu.lanes());
  if (lanes < 2) return std::numeric_limits<double>::infinity();
  return c.products / static_cast<double>(cpu.products_per_cycle * lanes) / cost::kShareInBlocks;
}

// In vectors of pixels.
inline double cycles_as_it_is(const GroupedConvolution& c, const target::Cpu& cpu) {
  return cost::products(c.products, cpu) / (c.windows ? cost::kShareOfWindows : cost::kShareOfPoints);
}

inline double layout_cycles(double elements) { return cost::kLayoutCycles * elements; }

}  // namespace relay::passes
