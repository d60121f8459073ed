// Has `fuse` run? Passes that look at operators ask before they move what is in kernels.
#pragma once

#include "ir/module.h"

namespace relay::analysis {

// Has the module functions marked `Primitive` (primitives.h)?
bool is_fused(const Module& m);

}  // namespace relay::analysis
