// build: sources to the files that a user deploys.
#pragma once

#include <string>
#include <vector>

#include "aot/emit.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "kernel/native/toolchain.h"

namespace relay::aot {

// NAME of DIR/NAME.so, or of a program DIR/NAME: what the files beside it are called after.
std::string name_of(const std::string& artifact);

// Writes NAME.so, NAME.h and, if the weights are a file, NAME.safetensors, for `artifact` = DIR/NAME.so: all of them whole, or
// none. If the options say that it is a program there is no header. Returns their paths. A source without a target is compiled
// for that of the options, so leave it at its default: any processor. Reports "cannot-compile" and "file-unwritable".
Result<std::vector<std::string>> build(const Sources& sources, Weights weights,
                                       const kernel::native::CompileOptions& options,
                                       const std::string& artifact, Diagnostics& diagnostics);

}  // namespace relay::aot
