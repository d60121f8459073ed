// The options that bound a run on the interpreter's machine: the engines interp, jit and vta,
// and the debugger.
#pragma once

#include <string>

#include "interp/limits.h"
#include "tools/options/options.h"

namespace relay::tools {

// --fuel, --max-depth, --max-time and --max-memory.
void add_limit_options(Command sub, interp::Limits& limits);

// Returns what is wrong with a limit that was given for an engine without it; empty if nothing is.
std::string limits_without_effect(Command sub, const std::string& engine);

}  // namespace relay::tools
