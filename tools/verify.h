// Differential testing of the engines on one model (docs/semantics.md, "How far an engine may be away").
#pragma once

#include <string>
#include <vector>

#include "runtime/compare.h"
#include "tools/model.h"

namespace relay::tools {

struct VerifyOptions {
  std::vector<std::string> engines = {};  // empty: all
  std::vector<int> levels = {0, 1, 2, 3};
  int threads = 1;
  std::string target = "native";
};

// One engine at one level.
struct VerifyRow {
  std::string engine;      // "graph -O2"
  std::string skipped;     // why; empty if it ran
  std::string failed;      // the trap, if it failed
  bool ok = true;
  double prepare_seconds = 0, seconds = 0;
  Comparison worst;        // of the output that used the largest share of its bound
  std::string output;      // its name
  Shape shape;
  Value result;
};

Result<std::vector<VerifyRow>> verify(const Model& model, const std::vector<Value>& args, const VerifyOptions& options,
                                      Session& session);
std::string show(const std::vector<VerifyRow>& rows);  // the table

}  // namespace relay::tools
