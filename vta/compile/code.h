// The stream of a layer, before its buffers have addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "vta/compile/schedule.h"
#include "vta/isa/fields.h"

namespace relay::vta {

// The buffers in DRAM that a layer's stream reads and writes. Those of steps follow, in their
// order: the buffer of step k is kSteps + k, and is empty for immediate operands.
namespace buffers {
inline constexpr int kNone = -1, kInput = 0, kOutput = 1, kMicroOps = 2, kWeights = 3, kSteps = 4;
}

// Where an instruction comes from, and which buffer its `dram_base` is in.
struct CodeLine {
  int origin = 0;
  int buffer = buffers::kNone;
};

struct LayerCode {
  TensorShape input, output;
  Schedule schedule;
  std::vector<Instruction> instructions;  // `dram_base` counts from the begin of the buffer
  std::vector<CodeLine> lines;            // one for each instruction
  std::vector<Origin> origins;            // of the layer, then of its steps
  std::vector<MicroOp> micro_ops;
  std::vector<OperandKind> operands;           // of the steps
  std::vector<std::vector<uint8_t>> contents;  // of each buffer: constants; else empty
};

// The instructions for buffers at these addresses, which are multiples of their elements' bytes.
std::vector<Instruction> link(const LayerCode& code, std::span<const uint64_t> addresses,
                              const Params& params);

// Assembly, where each line ends in a comment: the operator and the place in its source.
std::string listing(const LayerCode& code, const SourceMap& sources);

}  // namespace relay::vta
