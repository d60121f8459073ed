// Is a kernel well formed?
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// What is wrong with the kernel, as sentences that name the block; empty if nothing
// was found. A kernel beyond the limits (limits.h) is not looked at further. Checked:
//  * every variable and allocated buffer is bound once, and used only where it is bound; buffers
//    have distinct ids;
//  * stores and loads have an index for each dim, of dtype int64, and the dtype of their buffer;
//  * every access of a block lies inside a region that the block declares;
//  * regions lie inside their buffers, and iterators inside their extents: reported if
//    they provably do not, or if the loops exceed an extent and no predicate of the block
//    keeps them from it;
//  * bindings are quasi-affine, and iterators that say where a block writes are independent of each
//    other (affine.h);
//  * a reduction that one block does takes all of its steps;
//  * a loop whose iterations are declared independent separates what is written under it;
//  * shape variables that are read from an input are told by nothing else, and the input
//    has such elements;
//  * vectorized loops have a constant extent; strides keep elements apart; inputs and
//    outputs have none;
//  * a block that names an instruction does what that does (instructions.h);
//  * each output is written, and the loops around the writer reach all of each dim;
//  * a kernel that is small enough is checked for races (execute.h), which also looks at what
//    several blocks do together; docs/schedules.md says what it cannot see.
std::vector<std::string> validate(const Kernel& k);

}  // namespace relay::kernel
