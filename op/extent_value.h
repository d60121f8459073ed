// The value of an extent, computed by operators.
#pragma once

#include <functional>

#include "ir/builder.h"

namespace relay::op {

// Gives the value of a shape variable as a scalar of int64. Null says that it has none.
using ValueOfVariable = std::function<Expr(kernel::Expr variable)>;

// Returns the extent as a scalar of int64: `2 * n + 1` is add(multiply(2, VALUE OF n), 1). It need
// not be an extent that a tensor may have: `n - 5` can be negative. Returns null for an unknown
// extent, if a variable has no value, and for forms that no operator computes.
Expr value_of_extent(Builder& b, Dim extent, const ValueOfVariable& variable);

}  // namespace relay::op
