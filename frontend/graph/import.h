// From a graph (json.h) and its parameters to a module (docs/graphs.md).
//
// The module has one function, @main: its parameters are the graph's inputs that are no parameters
// of the blob, its result is the head, or the tuple of the heads. The attributes `input_names` and
// `output_names` of @main keep the nodes' names. Every expression carries a span into a text that
// lists the nodes, one a line.
#pragma once

#include <map>
#include <string>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/graph/files.h"
#include "ir/module.h"

namespace relay::frontend {

// The attribute of a node that calls a function with the function's definition, a `fn`
// of the language.
inline constexpr const char* kDefinition = "relay";
// Functions that every executor of the format knows: the argument under the shape of the result,
// and the argument.
inline constexpr const char* kReshapeFunction = "__nop";
inline constexpr const char* kCopyFunction = "__copy";

struct GraphImportOptions {
  std::map<std::string, Shape> input_shapes = {};  // of inputs whose shapes the graph does not say
  GraphReadLimits limits = {};
};

// `empty` is a module without contents: the result shares its context, and the diagnostics point
// into its sources whether or not there is a result. Functions of which the graph has code only are
// all refused at once ("unsupported-function").
Result<Module> import_graph(const GraphContents& contents, const std::string& name, const Module& empty,
                            const GraphImportOptions& options, Diagnostics& diagnostics);
Result<Module> import_graph(const GraphFiles& files, const Module& empty, const GraphImportOptions& options,
                            Diagnostics& diagnostics);

}  // namespace relay::frontend
