// Which values of a graph anybody takes: what nobody takes may be of a kind that Relay lacks.
#pragma once

#include <onnx/onnx_pb.h>

#include <string_view>
#include <unordered_set>

namespace relay::frontend {

// The names that nodes of the graph take, and graphs within them, and those of outputs. Linear in
// the number of nodes.
std::unordered_set<std::string_view> used_names(const ::onnx::GraphProto& graph);

}  // namespace relay::frontend
