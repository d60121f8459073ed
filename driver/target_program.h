// A program as an artifact has it for one target.
#pragma once

#include <optional>
#include <string_view>

#include "aot/emit.h"
#include "aot/program.h"
#include "aot/vta_layers.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/engines.h"
#include "passes/pipeline.h"

namespace relay::driver {

struct TargetProgram {
  target::Target target;
  aot::Program program;
  std::optional<aot::VtaLayers> vta = {};  // of a target with a VTA; there may be none
  aot::ExternalCode external = {};         // the code of other generators
  Diagnostics kept = {};                   // why functions that ask for one run by their bodies

  // Refers to this.
  aot::Variant variant() const {
    return {.program = &program,
            .target = target,
            .vta = vta ? &*vta : nullptr,
            .external = external.empty() ? nullptr : &external};
  }
};

// The function for the processor, and the VTA, of the options' target. These passes make kernels of
// what runs on the processor. Reports what they report, and why there is no code ahead of time.
// A module that nobody else has is freed on the way.
Result<TargetProgram> program_for_target(Module checked, std::string_view function,
                                         const passes::Pipeline& pipeline, const Options& options,
                                         Diagnostics& diagnostics);

}  // namespace relay::driver
