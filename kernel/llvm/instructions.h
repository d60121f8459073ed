// Machine instructions that blocks name (kernel/instructions.h), as LLVM knows them.
#pragma once

#include <string_view>
#include <vector>

#include "kernel/llvm/arithmetic.h"

namespace relay::kernel::llvm {

// Does the processor have it? What it has not, the block's body does.
bool has_instruction(const Rules& rules, std::string_view name);

// The instruction on the operands that begin at these addresses, in the order of its description;
// at any alignment.
void emit_instruction(Instructions& make, std::string_view name, const std::vector<Value*>& addresses);

}  // namespace relay::kernel::llvm
