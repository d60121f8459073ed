// What a compiled kernel may fail with.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel::codegen {

// The messages of the kernel's requirements, each once, in the order in which they first stand in
// its body. Its code gives 0, or i for requirements(k)[i - 1].
std::vector<std::string> requirements(const Kernel& k);

// The number of the requirement among them.
size_t number_of(const Require& requirement, const std::vector<std::string>& requirements);

}  // namespace relay::kernel::codegen
