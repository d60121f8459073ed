// The parts of inlining that `compute_inline` does to a whole kernel, and `inline_producers` to
// single statements of it.
#pragma once

#include "kernel/kernel.h"

namespace relay::kernel::schedule::primitives {

// Is anything that the block reads written in `root` by the block itself, or by one after it? The
// block stands in `root`.
bool operands_change_later(Stmt root, const Block* block);

// The statement with the value of a plain block in the place of each load of what that block
// writes. Returns the same pointer if there is no such load.
Stmt inline_loads(ExprPool& pool, Stmt s, const Block& producer);

}  // namespace relay::kernel::schedule::primitives
