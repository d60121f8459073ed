// Models of others, with the inputs and outputs that come with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/data/named_tensors.h"
#include "frontend/onnx/import.h"
#include "runtime/value.h"

namespace relay::tests {

// The node tests that come with ONNX (Debian package libonnx-testdata), and the list of
// those that must pass.
inline constexpr const char* kNodeTests = "/usr/share/libonnx-testdata/data";
inline constexpr const char* kNodeTestsList = "tests/conformance/passes.txt";

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

// A model whose types are checked, and what it must give.
struct ModelTest {
  Module module;  // its only function is @main
  std::vector<Value> args;
  frontend::data::NamedTensors want;  // one for each output, in order
};

// Imports the model into the context of `empty`, and checks types. Returns nothing and sets `why`
// if that fails. A model that needs what is not supported is skipped with the reason. Inputs and
// outputs are read from `inputs` and `outputs`, in any form that frontend::data::read_named reads.
std::optional<ModelTest> load_test(const std::string& model, const std::string& inputs,
                                   const std::string& outputs, const Module& empty,
                                   const frontend::ImportOptions& options, Verdict& why);

// Loads the model, interprets it and compares.
Verdict run_model(const std::string& model, const std::string& inputs, const std::string& outputs,
                  const frontend::ImportOptions& options, const Bounds& bounds);

}  // namespace relay::tests
