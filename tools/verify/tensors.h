// Tensors of another program, by name: each against what the interpreter gives for the
// expression of that name.
#pragma once

#include <string>
#include <vector>

#include "frontend/data/named_tensors.h"
#include "runtime/compare.h"
#include "tools/debug/names.h"
#include "tools/model.h"

namespace relay::tools {

struct TensorRow {
  std::string name;
  Shape shape = {};
  Comparison worst = {};
  std::string problem = {};  // why nothing was compared
  bool ok() const { return problem.empty() && worst.ok; }
};

// A row for each tensor, in the order in which the interpreter comes to its expression; those that
// it does not come to are last. Bounds are those of outputs (passes/reference.h), from one run in
// the program's own dtypes.
std::vector<TensorRow> compare_tensors(const driver::Model& model, const Names& names,
                                       const std::vector<Value>& args,
                                       const frontend::data::NamedTensors& theirs);

// One table, and the first that differs.
std::string show(const std::vector<TensorRow>& rows);

}  // namespace relay::tools
