// Explicit checks: what can go wrong in a kernel of the program becomes a `require` of it.
//
// A kernel that a user wrote may access an element that does not exist, because an index depends on
// data or on extents that only a call knows, and may divide integers by 0. The reference executor
// notices; compiled code would not. So those who run or compile such a kernel do this to it first,
// and the requirement says the same on every engine.
#pragma once

#include "kernel/kernel.h"

namespace relay::kernel {

// The kernel with its initial values (initial_values.h), and with a `require` in front of each
// statement that could do one of these, unless the ranges of loops and what is known where the
// statement stands exclude it:
//  * access an element outside of its buffer; the message names the kernel, the buffer, the
//    index and the extent;
//  * divide an integer by 0, or the least one by -1; shift by a negative amount or by at
//    least the width;
//  * run a block with an iterator outside of its extent;
//  * rely on a loop, an iterator, a condition, an index or a temporary whose extent or value does
//    not fit 64 bits (fits.h).
// What only the chosen side of a selection does is required only where it is chosen. A `require`
// that always holds is left out. Doing it again changes nothing, but for expressions with thousands
// of choices. Linear in the statements.
Kernel with_explicit_checks(const Kernel& k);

}  // namespace relay::kernel
