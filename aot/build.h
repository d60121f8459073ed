// build: sources to the files that a user deploys.
#pragma once

#include <string>
#include <vector>

#include "aot/emit.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "kernel/native/toolchain.h"

namespace relay::aot {

// Writes NAME.so, NAME.h and, if the weights are a file, NAME.safetensors, for `library` = DIR/NAME.so: all of them whole, or
// none. Returns their paths. A source without a target is compiled for that of the options, so leave it at its default:
// any processor. Reports "cannot-compile" and "file-unwritable".
Result<std::vector<std::string>> build(const Sources& sources, Weights weights,
                                       const kernel::native::CompileOptions& options,
                                       const std::string& library, Diagnostics& diagnostics);

}  // namespace relay::aot
