// Kernels to machine code through LLVM, in this process: no compiler is needed, and what was
// compiled once is found again on disk (toolchain/object_cache.h).
//
// The results are those of the C++ path, bit for bit, as far as a compiler leaves nothing open: the
// same order of operations, the same formulas for exp and its like, and a * b + c rounded once only
// where the C++ path allows it.
#pragma once

#include <span>
#include <string>

#include "kernel/kernel.h"
#include "kernel/native/kernels.h"

namespace relay::kernel::llvm {

// A native::CodeGenerator. Returns what went wrong, or an empty text.
[[nodiscard]] std::string compile(std::span<const Kernel* const> kernels,
                                  const toolchain::CompileOptions& options, native::CompiledKernels& out);

// The kernel in LLVM's own notation, before LLVM has worked on it. Returns what went wrong,
// or an empty text.
[[nodiscard]] std::string show_instructions(const Kernel& k, const toolchain::CompileOptions& options,
                                            std::string& out);

}  // namespace relay::kernel::llvm
