// Do the iterations of a loop depend on each other?
#pragma once

#include <string>

#include "kernel/kernel.h"

namespace relay::kernel::schedule::primitives {

// Why the loop's iterations may not run in any order and at the same time; nothing if they
// may. They may if no block reduces over the loop, and each iteration writes elements, or
// memory, of its own.
std::string dependence(const For& loop);

}  // namespace relay::kernel::schedule::primitives
