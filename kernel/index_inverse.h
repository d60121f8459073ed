// The inverse of an index: which iterations of a step access the element p?
#pragma once

#include <unordered_map>
#include <vector>

#include "kernel/steps.h"

namespace relay::kernel {

struct IndexInverse {
  // Axes that follow from p and from the axes that are left.
  std::unordered_map<const ExprNode*, Expr> axes;
  std::vector<StepAxis> left;    // in the order of the loops
  std::vector<Expr> conditions;  // under which there is such an iteration; each needs those before
  // Does only a condition tell a dim of more than one element, as if the index is data? Then each
  // element looks at all iterations of the axes that are left.
  bool sparse = false;
};

// Do data say whether there is such an iteration, or which? Then nobody may ask it before what
// guards these data.
bool needs_data(const IndexInverse& inverse);

// `shape`: of the buffer. `first`: axes that are better solved for than others.
IndexInverse index_inverse(const std::vector<StepAxis>& axes, const std::vector<Expr>& index,
                           const std::vector<Expr>& p, const std::vector<Expr>& shape,
                           const std::vector<Expr>& first);

// If the expression is coefficient * axis + rest, and the rest does not mention the axis: the
// coefficient; else 0.
int64_t coefficient_of(Expr e, Expr axis);

}  // namespace relay::kernel
