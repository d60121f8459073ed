// What is left of a kernel's body to print: loops, stores, conditions and local buffers, without blocks.
#pragma once

#include "kernel/kernel.h"

namespace relay::kernel::printing {

// The same computation with blocks replaced by their contents (iteration variables by what they are bound to, initial
// values where the reduction begins, in front of its loops if nothing else is in them), small unrolled loops written
// out, everything simplified. What is returned holds For, Store, Seq, If, Allocate, Require and Nop.
Stmt expand(ExprPool& pool, const Kernel& k);

}  // namespace relay::kernel::printing
