// The engine `aot-cuda`: CUDA source, on a GPU or emulated on the CPU.
#pragma once

#include "driver/engines.h"

namespace relay::driver {

// Emulated, unless the options' target is a GPU.
Prepared prepare_aot_cuda(const Module& checked, std::string_view function, const Options& options);

}  // namespace relay::driver
