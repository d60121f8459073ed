// Math functions as LLVM instructions: formulas of ours, instructions of the processor, or calls
// of the C library.
#pragma once

#include "kernel/llvm/arithmetic.h"

namespace relay::kernel::llvm {

// fn(args) for float or double, single values or vectors. Booleans for kIsNan and its like. Not
// rounded to a small dtype.
Value* call_math(Instructions& make, const Rules& rules, Math fn, std::span<Value* const> args);

}  // namespace relay::kernel::llvm
