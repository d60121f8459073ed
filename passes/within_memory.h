// A pipeline that holds the workspace of @main to a limit.
#pragma once

#include <cstdint>

#include "passes/pipeline.h"

namespace relay::passes {

// The pipeline with `rematerialise{strict=1}` at its end, where kernels are known. Long sums are
// fused so that they keep the sum so far, and not all that they add up.
Pipeline within_memory(Pipeline pipeline, uint64_t limit);

}  // namespace relay::passes
