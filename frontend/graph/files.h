// The files of a graph: which they are, and what is in them.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "frontend/data/named_tensors.h"
#include "frontend/graph/json.h"

namespace relay::frontend {

// Where a graph and its parameters lie.
struct GraphFiles {
  std::string graph;
  std::string params;        // empty: there is no such file
  bool is_folder = false;    // a folder was named, which has both: without parameters it is not whole
  std::string missing = {};  // without `params`: where they should be
};

// Of a folder or a .json file. A folder's graph is graph.json or its only .json file, the
// parameters are the .params file of the same name, or the only one beside it. Reports
// "graph-files" if there is none or a choice.
Result<GraphFiles> graph_files(const std::string& path, Diagnostics& diagnostics);

struct GraphContents {
  Graph graph;
  data::NamedTensors params;
  std::string file = {};  // that has the parameters, or should have them
};

struct GraphReadLimits {
  GraphLimits graph = {};
  data::Limits files = {};
};
Result<GraphContents> read_graph(const GraphFiles& files, const GraphReadLimits& limits,
                                 Diagnostics& diagnostics);

}  // namespace relay::frontend
