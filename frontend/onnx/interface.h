// What an ONNX model says that it takes and gives, whether or not it can be imported.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/dtype.h"

namespace relay::frontend {

// One extent of an input's shape, as the user wants it or the model declares it.
struct InputDim {
  int64_t extent = -1;  // negative: dynamic
  std::string name;     // of a dynamic extent; empty: a new one
};

struct Port {
  std::string name;
  std::optional<DType> dtype;                 // nothing: not a tensor, or of a dtype that Relay lacks
  std::string_view stored = {};               // what a carrier carries (frontend/data/storage.h)
  std::optional<std::vector<InputDim>> dims;  // nothing: the model does not say its rank
  // Of a sequence, an optional value or a map: its type, in words. Its tensors are not
  // described above.
  std::string composite = {};
};

struct Interface {
  std::vector<Port> inputs, outputs;  // inputs with a default are constants, and not among them
};

// "x: Tensor[(batch, 3, ?), float32]", "x: sequence of Tensor[(3), float32]", "?" for what the
// model does not say.
std::string show(const Port& port);

}  // namespace relay::frontend
