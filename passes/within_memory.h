// A pipeline that holds the workspace of @main to a limit.
#pragma once

#include <cstdint>

#include "passes/pipeline.h"

namespace relay::passes {

// Returns the pipeline with `rematerialise{strict=1}` at its end, where kernels are known. The
// default of fuse{addends} becomes 2: a long sum then keeps the sum so far, and not all addends. A
// pipeline that asks for another number gets it.
Pipeline within_memory(Pipeline pipeline, uint64_t limit);

}  // namespace relay::passes
