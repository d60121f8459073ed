// The options that bound a run on the interpreter.
#pragma once

#include <CLI/CLI.hpp>

#include "interp/limits.h"

namespace relay::tools {

// --fuel, --max-depth, --max-time and --max-memory.
void add_limit_options(CLI::App& sub, interp::Limits& limits);

}  // namespace relay::tools
