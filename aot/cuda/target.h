// Which GPUs code is for.
#pragma once

#include <string>
#include <string_view>

#include "passes/runner.h"

namespace relay::aot::cuda {

struct Target {
  std::string name = "cuda:sm_90";
  int capability = 90;  // the least that a device must have: ten times the major number, plus the minor one
};

// "cuda", "cuda:sm_80" and the like. Does the text name a GPU at all, well or not?
bool is_target(std::string_view text);
// Returns what is wrong, or an empty text.
[[nodiscard]] std::string parse_target(const std::string& text, Target& out);

// The passes that make a module ready for a GPU. Tensors keep their layouts: blocks of channels
// are for vectors.
std::string default_pipeline(int opt_level);
// What `lower` has to know.
void aim_at_gpu(int opt_level, passes::RunnerOptions& options);

}  // namespace relay::aot::cuda
