// A kernel as an LLVM module.
//
// The module exports `int32_t ENTRY(const relay_parallel*, void* const* buffers, const int64_t*
// dims)`, which does what the function that kernel/print prints does: inputs, outputs, temporaries,
// then shape variables, and a result that is 0 or the number of the requirement that failed. Within
// it the buffers are function arguments that alias nothing.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "kernel/kernel.h"
#include "kernel/llvm/arithmetic.h"

namespace relay::kernel::llvm {

struct EmitOptions {
  std::string entry;
  Rules rules;
  int64_t vector_bytes = 64;                  // of the machine's registers
  bool contract = false;                      // a * b + c may be one instruction, rounded once
  bool in_place = false;                      // outputs may lie on inputs where they can (kernel/in_place.h)
  ::llvm::AttrBuilder* attributes = nullptr;  // of every function: the processor's features
};

// codegen::cannot_compile(k) is empty.
std::unique_ptr<::llvm::Module> emit(const Kernel& k, const EmitOptions& options,
                                     ::llvm::LLVMContext& context);

}  // namespace relay::kernel::llvm
