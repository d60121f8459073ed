// Places in a program as the command line names them, and the steps of the graph runtime: to run to one, or to keep what each
// of them gave.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/named_tensors.h"
#include "graph_runtime/executor.h"
#include "tools/model.h"

namespace relay::tools {

// Of a span into the list of nodes that an importer made: the node's name, or nothing.
std::string_view node_at(Span at, const SourceMap& sources);

// A name for each step, all different: that of the node of the graph or ONNX model whose result it gives, or else of the
// kernel ("k3_nn_conv2d_add").
std::vector<std::string> step_names(const passes::Plan& plan, const Model& model);

// The step of that name or number; nothing, and reported with names that there are, if there is none.
std::optional<size_t> find_step(const std::vector<std::string>& names, const std::string& wanted,
                                Session& session);

// The results of a step, named after it: "conv1", or "split.0" and "split.1".
void name_results(const std::string& step, std::span<const Tensor> results, data::NamedTensors& out);

// From now on the executor's steps leave copies of their results in `out`, in the order in which they ran:
// "000_conv1", "001_relu1", ... Both must outlive the runs.
void keep_results(graph_runtime::Executor& executor, const std::vector<std::string>& names,
                  data::NamedTensors& out);

}  // namespace relay::tools
