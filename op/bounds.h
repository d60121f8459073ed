// How far a result of one operator may be away, as its tolerance says (docs/semantics.md).
#pragma once

#include <span>
#include <vector>

#include "ir/context.h"
#include "op/op_def.h"
#include "runtime/compare.h"
#include "runtime/value.h"

namespace relay::op {

// The bound of each tensor that a call gives, for the arguments and results of one run. Floats of a
// reduction may be off by 2 (n + 2) u times the sum of |terms|, those of a function by some ULP.
std::vector<Bound> bounds(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                          std::span<const Tensor> results);

}  // namespace relay::op
