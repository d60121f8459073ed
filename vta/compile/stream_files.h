// A layer's stream as files that another simulator reads: `onera/standalone-vta`.
//
//   instructions.bin   16 bytes an instruction
//   uop.bin            4 bytes a micro-op
//   input.bin          the packed input
//   weight.bin         weight tiles
//   accumulator.bin    constants for channels, one step after the other
//   expected_out.bin   the packed result
//   vta_config.json    the parameters
//
// Buffers lie in memory as that simulator lays them out: input, weights, result, micro-ops,
// accumulators and instructions, each at the next page of 4096 bytes, the first one at 0x1000.
// Buffers that are empty take no page.
#pragma once

#include <string>

#include "vta/compile/code.h"

namespace relay::vta {

struct StreamFile {
  std::string name;
  std::vector<uint8_t> bytes;
};

// `result` is what `run_packed` returns for the input. Reports "vta-layer" if the stream
// reads tensors of 8 bits as accumulators: pooling, elementwise layers, and steps with a
// tensor. No file has those.
Result<std::vector<StreamFile>> stream_files(const LayerCode& code, std::span<const int8_t> input,
                                             std::span<const uint8_t> result, const Layout& layout,
                                             Diagnostics& d);

}  // namespace relay::vta
