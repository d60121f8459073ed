// Where the sums of a layer start: at zero, or at the constants that its first step adds.
//
// Every step is a pass over all accumulators, and so is the reset before the products. Most
// products are followed by `add` of a constant for each channel. Such sums may start at the
// constants, which saves the reset. An ALU has no copy, but it has `min`: if what lies in the
// accumulators is never less than the constant, `min` with it is a copy.
//
// An earlier tile has left its results there. So all sums get an offset: a negative number, which
// the steps turn into a multiple of 256 that is closer to zero. STORE keeps the low 8 bits, and so
// the results. With a shift by 7 and a clip to 0 and 127:
//
//   reset            min  constant - 256 * 128     the first tile finds zeros, the others find
//   products         products                      numbers from -256 to -129
//   add constant     shr  7                        v - 256 * 128 becomes v / 128 - 256
//   shr 7            max  0 - 256
//   max 0            min  127 - 256
//   min 127
#pragma once

#include <optional>

#include "vta/compile/layer.h"

namespace relay::vta {

struct Start {
  Layer layer;
  std::vector<std::vector<int32_t>> channels;  // of each step
};

// The same layer with `starts_at_constants`. Returns nullopt if the first step adds no constants,
// or if there is no such offset: a later step multiplies, compares with a tensor, or shifts each
// channel by another amount; or sums might leave 32 bits.
std::optional<Start> start_at_constants(const Layer& layer,
                                        const std::vector<std::vector<int32_t>>& channels);

}  // namespace relay::vta
