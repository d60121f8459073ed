// --memory-limit: the most bytes that the workspace of a plan may take.
#pragma once

#include <cstdint>

#include "passes/within_memory.h"
#include "tools/options/options.h"

namespace relay::tools {

// `limit` is 0 where the option is not given.
Option add_memory_limit_option(Command sub, uint64_t& limit);

// The pipeline that keeps the limit; the same pipeline for 0.
passes::Pipeline limited(passes::Pipeline pipeline, uint64_t limit);

}  // namespace relay::tools
