// Symbolic against numeric gradients of random calls, in float64.
#pragma once

#include <string>
#include <vector>

#include "tests/property/bytes.h"
#include "tests/sweep/seeds.h"

namespace relay::sweep {

struct GradientCall {
  std::string text;      // the operator with the types of its arguments
  std::string wrong;     // the first difference; empty if there is none
  std::string skipped;   // why nothing was compared: no float, a trap, an operator without a gradient
  int64_t compared = 0;  // elements
  // For other programs: the operator, attributes, arguments, results, weights and adjoints as JSON.
  // Empty if there is no gradient.
  std::string json;
};

// The call that the bytes stand for, with all floats in float64.
GradientCall check_gradient(const std::vector<Seed>& seeds, const property::Bytes& bytes);

}  // namespace relay::sweep
