// The engine `aot-cuda`: CUDA source, on a GPU or emulated on the CPU.
#pragma once

#include "tools/engines.h"

namespace relay::tools {

// Emulated, unless the options' target is a GPU.
Prepared prepare_aot_cuda(const Module& checked, std::string_view function, const EngineOptions& options);

}  // namespace relay::tools
