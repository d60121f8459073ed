// The table: which operators have a form in ONNX, and who writes it.
//
// An operator that is in no row, or whose row does not take the call, is written out in others if
// it is defined by others. What remains is refused by name. Nothing is approximated: a row refuses
// a form that ONNX would compute differently.
#pragma once

#include <span>
#include <string_view>

#include "exporter/onnx/site.h"

namespace relay::exporter {

struct Row {
  std::string_view op;
  Names (*write)(Site& s);  // returns the names of the call's tensors; throws a Refusal
  // Whether the row has this form, for operators that can be written out in others; null: always.
  bool (*takes)(const CallAttrs& attrs, const Call& call) = nullptr;
};

std::span<const Row> elementwise_rows();
std::span<const Row> matrix_rows();
std::span<const Row> convolution_rows();  // and pooling
std::span<const Row> normalisation_rows();
std::span<const Row> reduction_rows();
std::span<const Row> movement_rows();
std::span<const Row> creation_rows();
std::span<const Row> indexing_rows();
std::span<const Row> quantised_rows();

const Row* find_row(std::string_view op);  // null if there is none

}  // namespace relay::exporter
