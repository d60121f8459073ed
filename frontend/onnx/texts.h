// Tensors of strings, which Relay has not: where a model makes numbers of them, or of what it
// begins with, so that a user can cut it there.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

namespace relay::frontend {

// What to do about the texts that the value `name` of a model's graph holds: the remedy of a
// message. It names the nodes that first compute with the texts and, if these are few, the call of
// onnx.utils that leaves the texts out of `file`. Linear in the size of the graph.
std::string remedy_for_texts(const ::onnx::GraphProto& graph, const std::string& name, std::string_view file);

}  // namespace relay::frontend
