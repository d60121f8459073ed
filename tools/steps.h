// The steps of the graph runtime by name: to run to one, or to keep what each of them gave.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/named_tensors.h"
#include "graph_runtime/executor.h"
#include "tools/debug/names.h"
#include "tools/session.h"

namespace relay::tools {

// A name for each step, all different: that of the value that it gives
// (tools/debug/names.h), or else of its kernel ("k3_nn_conv2d_add"). If several steps
// compute a value, the last one has its name.
std::vector<std::string> step_names(const passes::Plan& plan, const Names& values);

// Returns the step that gives the value of that name, or that has that number. If there is none,
// reports names that there are.
std::optional<size_t> find_step(const std::vector<std::string>& names, const Names& values,
                                const std::string& wanted, Session& session);

// The results of a step, named after it: "conv1", or "split.0" and "split.1".
void name_results(const std::string& step, std::span<const Tensor> results,
                  frontend::data::NamedTensors& out);

// From now on the executor's steps leave copies of their results in `out`, in the order in which
// they ran: "000_conv1", "001_relu1", ... Both must outlive the runs.
void keep_results(graph_runtime::Executor& executor, const std::vector<std::string>& names,
                  frontend::data::NamedTensors& out);

}  // namespace relay::tools
