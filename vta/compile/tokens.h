// Tokens: the order that a stream needs, and no more.
//
// A stream without tokens means what its instructions do one after the other. Engines run at the
// same time, so an instruction has to wait for those before it that touch the same elements of a
// scratchpad in another engine, one of the two writing. It pops a token of that engine, which the
// last of them pushes: engines run in order, so the others are over, too. What an engine knows to
// be over needs no token again. FINISH waits for all STOREs.
//
// Each token is needed: without it, two engines race. Since every instruction waits for earlier
// ones alone, no stream stalls. Elements between the least and the greatest one that an instruction
// touches count as touched.
#pragma once

#include <span>

#include "vta/isa/instruction.h"
#include "vta/isa/params.h"

namespace relay::vta {

// The stream has no tokens, and no LOAD reads what a STORE of it writes. LOADs of `uop` have a
// `dram_base` into `micro_ops`.
void add_tokens(const Params& params, std::span<const MicroOp> micro_ops, std::span<Instruction> stream);

}  // namespace relay::vta
