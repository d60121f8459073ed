// Runs a model of others on the inputs that come with it, and compares with the outputs that come with it.
#pragma once

#include <string>

#include "frontend/data/named_tensors.h"
#include "frontend/onnx/import.h"

namespace relay::tests {

struct Verdict {
  enum class Kind { kPass, kSkip, kFail };
  Kind kind = Kind::kPass;
  std::string reason;  // of a skip or a failure, one line
  double worst = 0;    // largest absolute error
  double bound = 0;    // what was allowed there
};

// |got - want| <= absolute + relative * |want|; integers and booleans must be equal.
struct Bounds {
  double absolute = 1e-6, relative = 1e-4;
};

// Imports, checks types, interprets and compares. A model that needs what is not supported is skipped with the reason.
// Inputs and outputs are read from `inputs` and `outputs`, in any form that data::read_named reads.
Verdict run_model(const std::string& model, const std::string& inputs, const std::string& outputs,
                  const frontend::ImportOptions& options, const Bounds& bounds);

}  // namespace relay::tests
