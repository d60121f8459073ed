// Compiled kernels against the reference executor: do they agree?
#pragma once

#include <string>
#include <vector>

#include "kernel/native/kernels.h"

namespace relay::kernel::native {

struct Case {
  std::string name;
  Kernel kernel;
  std::vector<relay::Tensor> inputs;
  double ulps = 0;  // how far the results may be apart; 0: the same bits, any NaN for a NaN
};

// Compiles all kernels at once, runs each on its inputs, and does the same with the reference
// executor. One line for each case that differs; traps must be the same text. Empty if all agree.
std::string disagreements(const std::vector<Case>& cases, const toolchain::CompileOptions& options,
                          unsigned threads = 1, const CodeGenerator& compile = compile_as_cpp);

}  // namespace relay::kernel::native
