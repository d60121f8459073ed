// A node case of ONNX: a model, what it is given, and what it has to give. Both sets of cases are
// read here: those of the `onnx` wheel, and those of Debian's libonnx-testdata (node_data.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
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

// A value as the files of a case have it: a tensor, the parts of a sequence, or an optional value
// that is absent.
struct CaseValue {
  std::optional<Tensor> tensor = {};
  std::vector<CaseValue> parts = {};
  bool is_absent = false;
};

// Inputs in the order of the model's parameters, whose names they are given; outputs in order.
struct CaseData {
  std::vector<CaseValue> inputs, outputs;
  double relative = 0, absolute = 0;  // how far an element may be away
  bool is_random = false;             // no two implementations give the same elements
};

// Reads the data of a case whose model has these parameters. Reports what is wrong, and throws
// std::runtime_error if there are not the files that its maker writes.
using ReadData =
    std::function<Result<CaseData>(const std::vector<std::string>& parameters, Diagnostics& diagnostics)>;

// Imports the model into the context of `empty`, then reads its data. `is_open`: shape variables
// stay; otherwise they are replaced by the extents of the inputs. Returns nullopt and sets `why`
// if that fails.
std::optional<NodeCase> load_case(const std::string& model, const ReadData& read, const Module& empty,
                                  bool is_open, CaseRefusal& why);

// The case that cases/collect.py wrote into a folder: model.onnx, tensors in .pb files, and
// case.json, which says what they are.
//
//   {"rtol": 0.001, "atol": 1e-07, "random": false, "inputs": ["0.pb", ["1_0.pb", "1_1.pb"], null],
//    "outputs": ["out_0.pb"]}
//
// A list of files is a sequence, null an optional value that is absent. Throws std::runtime_error
// for a folder that collect.py did not write.
std::optional<NodeCase> load_case(const std::string& folder, const Module& empty, bool is_open,
                                  CaseRefusal& why);

// Returns what is wrong with the tensors of a result; an empty text if they are what ONNX wants.
// An element may be as far away as the case allows, or as `ours` does, which may be empty.
std::string wrong_result(const NodeCase& wanted, const std::vector<Tensor>& got,
                         const std::vector<Bound>& ours);

}  // namespace relay::tests
