// A node case of the `onnx` wheel, as cases/collect.py writes it into a folder: model.onnx,
// tensors in .pb files, and case.json, which says what they are.
//
//   {"rtol": 0.001, "atol": 1e-07, "random": false, "inputs": ["0.pb", ["1_0.pb", "1_1.pb"], null],
//    "outputs": ["out_0.pb"]}
//
// A list of files is a sequence, null an optional value that is absent. "random" says that no
// two implementations give the same elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "runtime/compare.h"
#include "runtime/value.h"

namespace relay::tests {

// Why a case has no program here.
struct CaseRefusal {
  std::string slug = {}, reason = {};
  bool blames_model = false;  // the message calls the model or its data wrong, which they are not
};

struct NodeCase {
  Module module;  // checked; its only entry is @main
  std::vector<Value> args;
  std::vector<Tensor> wanted;  // of ONNX, sequences taken apart
  double relative = 0, absolute = 0;
  bool is_random = false;
};

// Reads and imports the case of a folder into the context of `empty`. `is_open`: shape variables
// stay; otherwise they are replaced by the extents of the inputs. Returns nullopt and sets `why`
// if that fails. Throws std::runtime_error for a folder that collect.py did not write.
std::optional<NodeCase> load_case(const std::string& folder, const Module& empty, bool is_open,
                                  CaseRefusal& why);

// Returns what is wrong with the tensors of a result; an empty text if they are what ONNX wants.
// An element may be as far away as the case allows, or as `ours` does, which may be empty.
std::string wrong_result(const NodeCase& wanted, const std::vector<Tensor>& got,
                         const std::vector<Bound>& ours);

}  // namespace relay::tests
