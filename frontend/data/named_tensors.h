// Tensors with names, in an order that means something (of a file, or of a model's inputs).
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace relay::frontend::data {

struct NamedTensor {
  std::string name;
  Tensor value;
};
using NamedTensors = std::vector<NamedTensor>;

}  // namespace relay::frontend::data
