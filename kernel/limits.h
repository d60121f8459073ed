// Limits: how deeply statements and expressions of a kernel may be nested.
//
// Printers, code generators and the reference executor recurse over a kernel. They need no stacks
// of their own because each kernel stays within these limits: the validator, the type checker,
// the lowering, the code generators and the reference executor refuse others. What makes
// statements and expressions, before anybody has seen the kernel, does not recurse or gives up
// beyond them.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/kernel.h"

namespace relay::kernel {

// A level takes at most 1.6 KiB of a stack, in printers and code generators (g++ 12, -O2), and a
// thread has 4 MiB or more.
inline constexpr uint32_t kDeepestNest = 800;   // statements, each inside of the one before
inline constexpr uint32_t kDeepestExpr = 1024;  // operations; a block's variable stands for its binding

// Why the kernel is beyond a limit, as the end of a sentence; empty if it is within them.
std::string too_deep(const Kernel& k);

}  // namespace relay::kernel
