// The figures of each kernel of a model on one input: its error against the float64 interpreter,
// its bound, and its time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/compare.h"
#include "tools/model.h"
#include "tools/page/lineage.h"

namespace relay::tools {

struct KernelFigures {
  size_t calls = 0;        // in one run
  std::string uncompared;  // why there is no error; empty if there is
  Comparison worst = {};   // of the output that used the largest share of its bound, of all calls
  double seconds = 0;      // of one run: the sum over its calls of each one's median
};

struct Figures {
  std::vector<KernelFigures> kernels;  // one for each kernel of the lineage, in order
  double seconds = 0;                  // of a whole run, the median
  bool ok = true;                      // every kernel is within its bound
};

// Runs the kernels in this process. Each is compared by itself, on the tensors that it gets in a
// run.
// The reference is the function of operators that the kernel replaced, on the interpreter in
// float64; the bound is that of a network (passes/reference.h). Reports what a run fails with, and
// then returns nullopt.
std::optional<Figures> figures_of(const driver::Model& model, const Lineage& lineage,
                                  std::span<const Tensor> inputs, Session& session);

}  // namespace relay::tools
