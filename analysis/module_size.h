// How large a module is, for reports of what passes did.
#pragma once

#include <cstddef>

#include "ir/module.h"

namespace relay::analysis {

struct ModuleSize {
  size_t expressions = 0, functions = 0, kernels = 0;
};

// Counts each expression once, however often it is used. O(edges).
ModuleSize size_of(const Module& m);

}  // namespace relay::analysis
