// How the results of compiled kernels name the requirement that failed.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel::jit {

// The texts of the kernel's requirements, each once: requirement i has the number i + 1.
std::vector<std::string> requirements(const Kernel& k);

}  // namespace relay::kernel::jit
