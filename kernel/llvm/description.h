// What a kernel computes, as bytes: equal for kernels that differ in names alone.
#pragma once

#include <string>

#include "kernel/kernel.h"

namespace relay::kernel::llvm {

// A complete description: loops, blocks, accesses, expressions with their sharing. Names of
// buffers, variables and blocks, the origin, the batched kernel, and the texts of requirements
// are no part of it.
std::string describe(const Kernel& k);

}  // namespace relay::kernel::llvm
