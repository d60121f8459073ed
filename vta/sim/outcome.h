// What running a stream comes to: counters, or the instruction that is wrong and why.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/diagnostics.h"
#include "vta/isa/instruction.h"

namespace relay::vta {

struct Counters {
  std::array<uint64_t, kMemories> bytes = {};  // that were moved, by memory, as they are in DRAM
  uint64_t gemm = 0;                           // micro-ops that multiplied
  uint64_t reset = 0;                          // micro-ops of GEMM that set to zero
  uint64_t alu = 0;                            // micro-ops of ALU
  std::array<uint64_t, kEngines> instructions = {};

  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Refusal {
  // "vta-instruction": malformed or out of range; "vta-stall": no engine can go on; "vta-race": not
  // ordered by tokens; "vta-leftover": a token that nobody pops; "vta-limit".
  Slug slug;
  size_t index = 0;  // of the instruction in the stream
  std::string text;  // its assembly
  std::string cause;
};

Refusal refusal(Slug slug, std::span<const Instruction> stream, size_t index, std::string cause);
// Reports "instruction 3 `gemm ...`: CAUSE".
void report(const Refusal& refusal, Diagnostics& d);

struct Outcome {
  Counters counters;
  std::optional<Refusal> refusal;  // nothing after it ran
};

}  // namespace relay::vta
