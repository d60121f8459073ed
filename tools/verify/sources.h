// What `relay verify` is to verify: the models and exec tests that paths name, folders taken apart.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/session.h"

namespace relay::tools {

struct VerifySource {
  std::string name;             // as the user knows it: the file, or the folder of a model
  std::string model;            // of a model: what load_model reads
  std::string inputs, outputs;  // of a model's folder, where it has them
  bool is_exec = false;         // a file of calls (tools/verify/exec_program.h)
};

// In order, those of a folder sorted. A folder is a graph, or a model with its data (`model.onnx`
// or `model.relay`, `inputs/` and `outputs/` or `test_data_set_0/`), or all that is found beneath
// it. Reports a folder without any.
Result<std::vector<VerifySource>> find_sources(const std::vector<std::string>& paths, Session& session);

}  // namespace relay::tools
