// Kernels as text, in the form that the parser reads back.
#pragma once

#include <string>
#include <string_view>

#include "kernel/kernel.h"

namespace relay::text {

// `kernel @name(inputs) -> (outputs) { ... }`
std::string print_kernel(std::string_view name, const kernel::Kernel& k);

}  // namespace relay::text
