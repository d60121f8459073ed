// Graphs of the graph runtime, written: what `relay compile --emit graph` does.
#pragma once

#include <string>
#include <vector>

#include "driver/engines.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {

// The files of a graph in the folder.
std::vector<std::string> files_of_graph(const std::string& folder);
// What would keep a graph from being written into the folder, as far as that can be known
// before there is one.
std::string cannot_write_graph(const std::string& folder);
// Writes FOLDER/graph.json and FOLDER/graph.params; with no folder, prints the JSON. Where it
// fails, the folder is as it was.
void emit_graph(const driver::Model& model, const passes::Pipeline& pipeline, const driver::Options& options,
                const std::string& folder, Session& session);

}  // namespace relay::tools
