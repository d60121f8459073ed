// The extents that a user gives to the inputs of a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/onnx/import.h"
#include "ir/module.h"

namespace relay::driver {

using InputShapes = std::map<std::string, std::vector<frontend::InputDim>>;

// The module with shape variables of @function's inputs replaced by the extents; it must be type
// checked again. The module itself if nothing is bound. Reports "input-unknown" and
// "input-shape-mismatch".
Result<Module> bind_input_shapes(const Module& m, std::string_view function,
                                 const std::vector<std::string>& names, const InputShapes& shapes,
                                 Diagnostics& diagnostics);

// The extents of shape variables that the shapes say, as far as they fit the inputs.
std::map<std::string, int64_t> given_extents(const Fn& fn, const std::vector<std::string>& names,
                                             const InputShapes& shapes);

}  // namespace relay::driver
