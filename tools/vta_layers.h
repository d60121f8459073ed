// The layers of a program that a VTA computes, for people and for other simulators.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/vta_engine.h"
#include "tools/product.h"
#include "tools/session.h"

namespace relay::tools {

// The assembly of each layer with operators and places in the source, then what stays on the CPU
// and why.
std::string vta_listing(const driver::VtaProgram& program);
// What stays on the CPU and why, a line each. Empty if nothing that could be in a layer does.
std::string vta_leftovers(const driver::VtaProgram& program, std::string_view indent);

// Writes a folder `layer_K` of stream files (vta/compile/stream_files.h) for each layer that has
// them, and says which layers have none. Inputs are made up, and the simulator computes the
// results. Fails if no layer has such files, or if one of `read` would be replaced.
void write_vta_streams(const driver::VtaProgram& program, const std::string& folder,
                       std::span<const std::string> read, Session& s);

// `relay compile --emit vta` and `--emit vta-stream`. Reports options that mean nothing there.
void compile_to_layers(const CompileRequest& o, const std::vector<target::Target>& targets, Session& s);

}  // namespace relay::tools
