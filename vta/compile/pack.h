// Tensors in the order in which a VTA reads them.
//
//   activations   batches of BATCH images, blocks of BLOCK channels, rows, columns; then BATCH x
//                 BLOCK bytes. So a vector of the accelerator is one pixel
//   weights       bundles, output blocks, input blocks, rows, columns; then BLOCK x BLOCK bytes,
//                 output channel outermost (blocks.h)
//   channels      a vector of accumulators for each block: BATCH times the same row
//
// What has no number in the tensor is zero.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vta/compile/blocks.h"

namespace relay::vta {

int64_t packed_bytes(const TensorShape& shape, const Params& params);
std::vector<uint8_t> pack_tensor(const TensorShape& shape, std::span<const int8_t> tensor,
                                 const Params& params);
std::vector<int8_t> unpack_tensor(const TensorShape& shape, std::span<const uint8_t> packed,
                                  const Params& params);

// Of the shape `weight_shape(layer)`.
std::vector<uint8_t> pack_weights(const Layer& layer, std::span<const int8_t> weights, const Params& params);
// A number for each output channel.
std::vector<uint8_t> pack_channels(std::span<const int32_t> channels, const Params& params);

}  // namespace relay::vta
