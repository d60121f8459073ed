// Programs as the sources of artifacts: what the engines of the ahead-of-time compiler do before
// they ask a compiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aot/emit.h"
#include "aot/external/external_code.h"
#include "aot/program.h"
#include "base/diagnostics.h"
#include "driver/engines.h"
#include "ir/module.h"
#include "toolchain/compiler.h"

namespace relay::driver {

struct Emitted {
  std::optional<aot::Program> program = {};  // none if the engine skips it
  aot::ExternalCode external = {};           // of the CPU's: the code of other generators
  aot::Sources sources = {};                 // with embedded weights
  toolchain::CompileOptions compile = {};    // of the CPU's
  std::string skipped = {};                  // why
  // The same in full, where a pass or the compiler refused the program. With `program`: which
  // functions run by their bodies, and not by the code of other generators.
  Diagnostics refusal = {};
};

// Of the engine `aot-cpp`.
Emitted emit_aot(const Module& checked, std::string_view function, const Options& options);
// Of the engine `aot-cuda`; for the emulation, unless the options' target is a GPU.
Emitted emit_aot_cuda(const Module& checked, std::string_view function, const Options& options);

// Where the library of an engine is kept; empty: nowhere.
std::string kept_library(const Options& options, std::string_view engine);

}  // namespace relay::driver
