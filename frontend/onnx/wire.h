// A look at a protobuf message before it is parsed: how much would parsing it make us allocate?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relay::frontend {

struct WireFacts {
  size_t nodes = 0;     // NodeProto
  size_t messages = 0;  // of any kind: two bytes of a file can become a message of hundreds of bytes
  std::string wrong;    // why it is no ONNX model; empty if it looks like one
};

// Walks a ModelProto without recursion and without allocating in proportion to it.
WireFacts scan_model(std::string_view bytes);

}  // namespace relay::frontend
