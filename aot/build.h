// build: sources to the files that a user deploys.
#pragma once

#include <string>
#include <vector>

#include "aot/emit.h"
#include "kernel/native/toolchain.h"

namespace relay::aot {

// Writes NAME.so, NAME.h and, if the weights are a file, NAME.safetensors, for `library` = DIR/NAME.so. Each appears whole or
// not at all. Returns what went wrong, or an empty text; appends the paths it wrote to `written`.
[[nodiscard]] std::string build(const Sources& sources, Weights weights,
                                const kernel::native::CompileOptions& options, const std::string& library,
                                std::vector<std::string>& written);

}  // namespace relay::aot
