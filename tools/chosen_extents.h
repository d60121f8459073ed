// Extents for what a model leaves open, where a command makes up its inputs and nobody gave any.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "driver/input_values.h"
#include "driver/model.h"
#include "frontend/onnx/interface.h"
#include "runtime/tensor.h"
#include "tools/session.h"

namespace relay::tools {

// The shapes of all inputs, which must be tensors: with the smallest extents that type-check. Says
// on standard error which were chosen. Nothing if none were found: that is reported, with a remedy.
std::optional<std::vector<Shape>> choose_shapes(const driver::Model& model, Session& session);

// What to know of an ONNX model that is refused while extents are open, so that it is read: `given`
// and the smallest extents for which `reads` is true. Says which. Nothing if none help.
std::optional<driver::KnownInputs> choose_known(const std::vector<frontend::Port>& inputs,
                                                const driver::KnownInputs& given,
                                                const std::function<bool(const driver::KnownInputs&)>& reads,
                                                const Session& session);

}  // namespace relay::tools
