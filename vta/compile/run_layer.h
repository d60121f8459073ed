// A layer's code on a driver.
#pragma once

#include "vta/compile/code.h"
#include "vta/driver.h"

namespace relay::vta {

// Uploads everything, runs the stream, and frees the buffers. `tensors` has one for each step,
// which is empty unless the step reads a tensor. Reports what the driver does.
Result<std::vector<int8_t>> run_layer(Driver& driver, const LayerCode& code, std::span<const int8_t> input,
                                      std::span<const std::vector<int8_t>> tensors, Diagnostics& d);

// The same, with the result as it lies in memory: also numbers of channels and images that
// only fill blocks.
Result<std::vector<uint8_t>> run_packed(Driver& driver, const LayerCode& code, std::span<const int8_t> input,
                                        std::span<const std::vector<int8_t>> tensors, Diagnostics& d);

}  // namespace relay::vta
