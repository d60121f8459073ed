// Reading an ONNX model, with what is known of its inputs, and saying what would have to be known
// if it is refused.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"
#include "tools/input_values.h"
#include "tools/model.h"

namespace relay::tools {

// Files that a model was read from.
using Files = std::vector<std::string>;

// What the model leaves open is what the tensors of options.examples say, if it is
// refused without that.
Result<Module> read_onnx(const ModelOptions& options, const KnownInputs& known, Files& files,
                         Session& session);

}  // namespace relay::tools
