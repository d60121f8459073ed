// The prelude: the small helpers that printed kernels call, as text to stand once before them.
//
// Plain C++17 (or CUDA) without undefined behaviour and without warnings: integer arithmetic that
// wraps, NaN-correct minima, conversions of small floating formats, vectors, and float32 functions
// within 4 units in the last place that compilers can vectorise. It depends on the C library alone
// and is the same text for every kernel.
#pragma once

#include <string>
#include <string_view>

#include "kernel/print/dialect.h"

namespace relay::kernel::print {

std::string prelude(const Dialect& dialect = kCppDialect);

// Its parts, for tests and for those who put them together otherwise.
extern const std::string_view
    kPreludeHost;  // includes, macros, relay_parallel (unless runtime/relay.h has it)
extern const std::string_view kPreludeCuda;         // the same for device code
extern const std::string_view kPreludeArithmetic;   // integers, minima, divisions
extern const std::string_view kPreludeConversions;  // float16, bfloat16, float8, float to integer
extern const std::string_view kPreludeVectors;      // loads, stores, broadcasts; host only
extern const std::string_view kPreludeMath;         // the C library's functions, by lanes; host only
extern const std::string_view kPreludeFunctions;    // exp, log, tanh, erf of scalars and vectors; host only
// RELAY_HAS_X and relay_x for each instruction X of kernel/instructions.h; host only.
extern const std::string_view kPreludeInstructions;

}  // namespace relay::kernel::print
