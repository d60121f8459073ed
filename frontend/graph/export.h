// From a module to a graph and its parameters (docs/graphs.md).
//
// Every call of a function marked `Primitive` becomes a node, and so does every operator call
// outside of them; shape changes become `__nop`. The function's definition stands in the node's
// attribute `relay`, so that import.h gets back a module that computes the same bits.
// Constants of more than one element become parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/graph/files.h"
#include "ir/module.h"

namespace relay::frontend {

// What the nodes of inputs and results are called. Where there is no name: a parameter's
// own, a function's.
struct GraphNames {
  std::vector<std::string> inputs, outputs;
};

// The module is type checked, and usually fused (passes/fuse.cc). Tuples of the result are taken
// apart: their tensors become heads. A result has its name if it is the only one of a node.
// Reports "not-static-dataflow", "dynamic-shape" and "no-such-function".
Result<GraphContents> export_graph(const Module& m, std::string_view function, const GraphNames& names,
                                   Diagnostics& diagnostics);

}  // namespace relay::frontend
