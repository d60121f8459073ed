// Extents as values of a graph: what shapes are computed from when the model runs.
#pragma once

#include <map>
#include <span>
#include <string>

#include "exporter/onnx/graph.h"
#include "ir/dim.h"
#include "ir/expr.h"

namespace relay::exporter {

// Why something has no form in ONNX.
struct Refusal {
  std::string why;
};

class Extents {
 public:
  explicit Extents(Graph& graph) : graph_(graph) {}

  // A shape variable is read from the first input that has it alone as an extent.
  void add_input(const std::string& name, const TensorType& type);

  // The name of a vector of int64 with these numbers: an initialiser if all are constant, else
  // nodes that compute it. Throws a Refusal for an unknown extent, and for a shape variable that
  // stands alone in no input.
  std::string vector(std::span<const Dim> dims);

 private:
  std::string value_of(kernel::Expr e);  // a vector of one number
  std::string computed(kernel::Expr e);
  std::string folded(std::string_view op, kernel::Expr e);

  struct Place {
    std::string input;
    int64_t axis;
  };
  Graph& graph_;
  std::map<const kernel::ExprNode*, Place> variables_;
  std::map<const kernel::ExprNode*, std::string> values_;
};

}  // namespace relay::exporter
