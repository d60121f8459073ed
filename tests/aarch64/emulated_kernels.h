// Kernels as LLVM compiles them for 64-bit ARM, run under the emulator of such a machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "runtime/tensor.h"

namespace relay::tests {

// A kernel and what it is called with.
struct EmulatedCall {
  std::string name;
  const kernel::Kernel* kernel;
  std::vector<Tensor> inputs;
};

struct EmulatedResult {
  std::string trap = {};  // its text; empty: none
  std::vector<Tensor> outputs = {};
};

// The cross compiler links the objects with a program that calls one after the other. Returns what
// went wrong, or an empty text.
[[nodiscard]] std::string run_emulated(std::span<const EmulatedCall> calls,
                                       std::vector<EmulatedResult>& results);

}  // namespace relay::tests
