// The specification of VTA, executable: naive, scalar, one element after the other.
//
// simulator.h has to give the same bytes wherever it accepts a stream. This file checks nothing but
// what it needs to end: it is for reading.
#pragma once

#include <span>
#include <string>

#include "vta/isa/fields.h"
#include "vta/sim/dram.h"

namespace relay::vta {

// Runs the stream on empty scratchpads. Returns why it stopped early, or an empty text.
std::string run_oracle(const Layout& layout, std::span<const Instruction> stream, Dram& dram);

}  // namespace relay::vta
