// A model at every stage of its compilation, with links from the parts of one stage to those of
// another.
//
// The compiler knows all of the links:
// * an expression has the span of the node that it was imported from,
// * `lower` names the call that a kernel replaces,
// * each kernel has a C++ text of its own,
// * debug information names the line of C++ that an instruction comes from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph_runtime/executor.h"
#include "kernel/kernel.h"
#include "passes/plan_memory.h"
#include "tools/model.h"
#include "tools/page/assembly.h"

namespace relay::tools {

// A line of the model or of its program. Both lists are sorted.
struct LinkedLine {
  std::string text;
  std::vector<size_t> nodes;    // lines of the model, from 0: where it comes from
  std::vector<size_t> kernels;  // that it became a part of
};

struct LinkedKernel {
  std::string name, origin;   // "k3_nn_conv2d_add", "nn.conv2d + add"
  std::vector<size_t> nodes;  // lines of the model that it was made of, sorted
  const Call* replaced;       // the first call that it stands for
  std::string loops, cpp;
  std::vector<AssemblyLine> assembly;  // empty: Lineage::no_assembly says why
};

struct Lineage {
  std::string model_name;                 // of the text that `model` has
  std::vector<LinkedLine> model;          // of an ONNX model or a graph: a node each
  std::vector<LinkedLine> program;        // as the checker left it, with types
  std::vector<LinkedKernel> kernels;      // in the order in which they run first
  passes::Plan plan;                      // that calls them
  std::string compiler, no_assembly;      // its version; why there is no assembly
  std::shared_ptr<Context> context = {};  // keeps what the others refer to
};

// Compiles the model at -O2 for this machine. Reports why that is refused: control flow, for one.
Result<Lineage> lineage_of(const driver::Model& model, Session& session);

}  // namespace relay::tools
