// Graphs of the graph runtime, written: what `relay compile --emit graph` does.
#pragma once

#include <string>

#include "passes/runner.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {

// The passes of a level before operators become kernels.
std::string graph_pipeline(int opt_level);

// Writes FOLDER/graph.json and FOLDER/graph.params; with no folder, prints the JSON.
void emit_graph(const Model& model, const std::string& pipeline, const passes::RunnerOptions& run,
                const std::string& folder, Session& session);

}  // namespace relay::tools
