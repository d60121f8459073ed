// A box of DRAM as LOADs or STOREs: these move two dims, with zeros around.
#pragma once

#include <functional>
#include <vector>

#include "vta/isa/instruction.h"

namespace relay::vta {

// One dim of a box. The innermost elements lie side by side.
struct BoxDim {
  int64_t count = 1;
  int64_t stride = 1;                     // elements of DRAM from one to the next
  int64_t pad_before = 0, pad_after = 0;  // of the two innermost dims alone: zeros in the scratchpad
};

// Outermost dim first. In the scratchpad, the box with its zeros is dense.
using Box = std::vector<BoxDim>;

// Instructions that move it.
int64_t transfers(const Box& box);

// Calls `emit` with each instruction: `i`, where rows, bases and pads are set. The box begins at
// these elements of the scratchpad and of DRAM.
void transfer(const Instruction& i, const Box& box, int64_t sram, int64_t dram,
              const std::function<void(const Instruction&)>& emit);

}  // namespace relay::vta
