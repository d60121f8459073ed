// Which outputs of a kernel may lie in the memory of an input.
//
// An elementwise update reads each element of the old tensor only for the element that it writes
// in the same place. So a training step needs no second buffer for its parameters.
#pragma once

#include <cstddef>
#include <set>

#include "kernel/kernel.h"

namespace relay::kernel {

// May the two, by their numbers, be the same memory from its first byte to its last? True if it is
// proved that the kernel writes each element of the output once, never reads the output, and reads
// the input
//  * in stores to the output, and before them in the same round of all loops around: there only the
//    element that the store replaces;
//  * elsewhere only where all is one loop whose rounds have parts of both for themselves, and a
//    round reads its part before it writes any of it.
// False says nothing of the kernel: external kernels and machine instructions are not looked into.
// Buffers with open extents must have equally many elements. Linear in the statements, and
// quadratic in the stores to the output.
bool may_share(const Kernel& k, size_t input, size_t output);

// The numbers of the parameters that may share memory with another one: inputs, then outputs.
std::set<size_t> sharing_parameters(const Kernel& k);

}  // namespace relay::kernel
