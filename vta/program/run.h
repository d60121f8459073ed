// A device layer on a driver, with tensors of the program.
#pragma once

#include <span>

#include "runtime/tensor.h"
#include "vta/driver.h"
#include "vta/program/partition.h"

namespace relay::vta {

// Takes a tensor for each parameter of the layer's function, and returns what the function
// does: `result` is its type. Reports what the driver does.
Result<Tensor> run(Driver& driver, const DeviceLayer& layer, std::span<const Tensor> params,
                   const TensorType& result, Diagnostics& d);

}  // namespace relay::vta
