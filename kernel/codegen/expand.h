// What is left of a kernel's body to print: loops, stores, conditions and local buffers, and of
// blocks only those that an instruction does.
#pragma once

#include "kernel/kernel.h"

namespace relay::kernel::codegen {

// The same computation with blocks replaced by their contents (iteration variables by what they are
// bound to, initial values where the reduction begins, in front of its loops if nothing else is in
// them), small unrolled loops written out, everything simplified. What is returned holds For,
// Store, Seq, If, Allocate, Require and Nop; and a Block, without iterators, for each that names an
// instruction which does its body: the first indices of its operands are in `reads` (inputs) and
// `writes` (the output), in the order of the instruction's description.
Stmt expand(ExprPool& pool, const Kernel& k);

}  // namespace relay::kernel::codegen
