// The equation of einsum, with its letters as numbers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "op/define.h"

namespace relay::op {

struct EinsumAttrs {
  std::string equation;
  static constexpr auto kFields =
      fields(field("equation", &EinsumAttrs::equation, "\"ij,jk->ik\", see above").required());
};

// "ij,jk->ik" has the terms {0, 1} and {1, 2}, the result {0, 2}, and three labels.
struct Equation {
  std::vector<std::vector<size_t>> terms;  // the labels of the axes of each tensor
  std::vector<size_t> result;
  size_t labels = 0;  // those that the dots stand for come first

  // The labels that the result has not, which are summed over.
  std::vector<size_t> summed() const;
};

// Reads the equation for tensors of these ranks. Throws RelationError for what is none, and where a
// term does not fit its tensor (C1 and C3 of einsum).
Equation read_equation(const std::string& text, const std::vector<size_t>& ranks);

}  // namespace relay::op
