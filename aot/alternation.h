// Which kernels go through their outermost loop from its end: those that read weights which
// have just been read.
//
// Weights that are larger than a cache are gone from it by the time that the next step of a
// recurrent network begins with their beginning again; their end is still there. So kernels read
// them alternately forwards and backwards, and find in the cache what fits there. Iterations of a
// parallel loop are independent, so the results are the same bits (support/alternation.cc).
#pragma once

#include <cstdint>
#include <vector>

#include "passes/plan_memory.h"
#include "target/target.h"

namespace relay::aot {

// Of each step of the plan, whether it goes backwards.
std::vector<bool> backward_steps(const passes::Plan& plan, const target::Cpu& cpu);

// Whether the kernel reads a tensor so large that it should go to and fro where it is called
// again and again.
bool alternates(const kernel::Kernel& k, const target::Cpu& cpu);

}  // namespace relay::aot
