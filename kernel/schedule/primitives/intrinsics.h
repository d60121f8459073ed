// Intrinsics: pieces of computation that `tensorize` looks for, and what it puts in their place.
//
// Both sides are kernels over the same operands: the description says what is computed, in
// plain loops around one block; the implementation computes the same in the way that suits a
// machine, if need be by blocks that name an instruction (kernel/instructions.h). A test runs
// one against the other.
#pragma once

#include <span>
#include <string_view>

#include "kernel/kernel.h"

namespace relay::kernel::schedule::primitives {

struct Intrinsic {
  std::string_view name;                     // "dot_16x4_u8s8"
  Kernel (*description)(ExprPool& pool);     // inputs, then the one output, which it reads as well
  Kernel (*implementation)(ExprPool& pool);  // the same buffers in the same order
};

// In alphabetical order.
std::span<const Intrinsic> intrinsics();
const Intrinsic* find_intrinsic(std::string_view name);  // null if there is none

}  // namespace relay::kernel::schedule::primitives
