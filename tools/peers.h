// Other runtimes, timed on the same model and the same inputs.
#pragma once

#include <string>
#include <vector>

#include "tools/model.h"

namespace relay::tools {

struct PeerRuns {
  int runs, warm_up, threads;
};

struct PeerTimes {
  std::string version;
  std::vector<double> seconds;  // of each run, in order
  std::string wrong = {};       // why there are none, and what to do
};

// ONNX Runtime of `python3`, or of the one that RELAY_PYTHON names, in float32 on the CPU.
PeerTimes time_onnxruntime(const std::string& model, const frontend::data::NamedTensors& inputs,
                           const PeerRuns& how);

}  // namespace relay::tools
