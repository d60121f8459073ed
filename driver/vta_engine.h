// The engine `vta`: layers of a program on a VTA, which is simulated, and the rest as the engine
// `jit` does it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/engines.h"
#include "ir/module.h"
#include "vta/program/partition.h"
#include "vta/sim/outcome.h"

namespace relay::driver {

// What runs of a layer have done.
struct LayerRuns {
  uint64_t count = 0;
  vta::Counters last = {};  // of the last run
};

// A program, and which of its layers a VTA computes.
struct VtaProgram {
  target::Target target;  // has the VTA; its host runs the rest
  vta::Layout layout;
  vta::ScheduleOptions schedule;
  vta::Partitioned parts;            // of the module with the function as its @main
  std::vector<LayerRuns> runs = {};  // of each layer, since the program was made ready
};

// For the VTA of the options' target; for the usual one beside that processor if it has none. The
// program is simplified first, and its constants are folded, as the level says. Reports
// "engine-skips" if the processor is none of this machine, "vta-parameters" if such a VTA has no
// instructions, and what passes report.
Result<VtaProgram> vta_program(const Module& checked, std::string_view function, const Options& options,
                               Diagnostics& diagnostics);
// Why the engine skips the program; empty if the VTA has something to do.
std::string nothing_for_vta(const VtaProgram& program);

Prepared prepare_vta(const Module& checked, std::string_view function, const Options& options);
std::string vta_skips(const Module& checked, std::string_view function, const Options& options);

}  // namespace relay::driver
