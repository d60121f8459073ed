// Nested loops over GEMM or ALU as one instruction: two loops of the instruction, and micro-ops for
// the rest.
#pragma once

#include <span>
#include <vector>

#include "vta/isa/instruction.h"

namespace relay::vta {

// What a micro-op indexes. An index beyond 32 bits is none of a scratchpad.
struct Indices {
  int64_t dst = 0, src = 0, wgt = 0;

  friend bool operator==(const Indices&, const Indices&) = default;
};

struct Loop {
  int64_t count = 1;
  Indices step;  // from one turn to the next
};

struct Nest {
  std::vector<Loop> loops;       // outermost first; each turns at most kMostTurns times
  std::vector<Indices> offsets;  // innermost: one micro-op each

  Indices first;
};

// Fields of 14 bits.
inline constexpr int64_t kMostTurns = 16383;

// Micro-ops that `fold` makes for each offset.
int64_t folded_size(const std::vector<Loop>& loops);

// Sets the loops of the instruction, and returns the micro-ops. Loops become one where the indices
// allow it, and the two that leave the fewest micro-ops become those of the instruction. Neighbours
// among the micro-ops have different accumulators where the nest has some: boards whose GEMM is a
// pipeline want that.
std::vector<MicroOp> fold(const Nest& nest, Instruction& instruction);

}  // namespace relay::vta
