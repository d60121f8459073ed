// The code generator `dnnl`: products and convolutions by oneDNN
// (https://github.com/oneapi-src/oneDNN).
#pragma once

#include "aot/external/generator.h"

namespace relay::aot {

// Takes functions that `partition-dnnl` made, and others of the same form: calls of composites,
// each a step of analysis/dnnl_steps.h.
extern const CodeGenerator kDnnlGenerator;

}  // namespace relay::aot
