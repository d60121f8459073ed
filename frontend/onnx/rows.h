// Rows that a loop collects, one a step. Private to this folder.
//
// They are kept in a list, and joined when the loop has ended: neighbours first, so that each
// row is copied as often as their number can be halved. Joined in each step, all would be
// copied each time.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

class CollectedRows {
 public:
  // Rows of this type outside of the loop's body. Where it has `?`, the first row of a run says
  // what extent all have, and a run compares. `backwards`: the last row comes first.
  CollectedRows(Node& n, std::string_view name, const std::vector<Dim>& dims, DType dtype, bool backwards);

  const Var* list() const { return list_; }  // the parameter of a step: the rows so far
  Expr none();                               // before the first step
  Expr with(Expr row, Expr step);            // the list with the row of the step of this number
  Expr joined(Expr list);                    // a tensor with the rows along a new first axis

 private:
  Expr cons(Expr part, Expr rest);

  Node& n_;
  Type part_;  // of some rows
  const Var* list_;
  std::vector<Dim> nothing_;  // a shape without rows
  bool open_ = false, backwards_;
};

}  // namespace relay::frontend
