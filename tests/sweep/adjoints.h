// The adjoints of one operator call, also of an operator that others define.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/context.h"
#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::sweep {

// A call in float64, weights for its results, and what follows from them.
struct Derivative {
  std::vector<Tensor> results, weights;
  // By flattened argument: the gradient of sum(weights * results). Undefined where it is zero
  // everywhere, or the argument is no float.
  std::vector<Tensor> adjoints;
};

// Differentiates by the operators' own rules: that of the call's operator, or those of its
// expansion. Returns nullopt and sets `why` if the call depends on a float through an operator
// that has no gradient.
std::optional<Derivative> differentiate(Context& context, const op::OpDef& op, const std::vector<Value>& args,
                                        const Attrs& attrs, std::string& why);

// Compares with central differences: the first element that differs, as text, or nothing.
// `compared` counts the elements for which differences say something.
std::string compare_with_differences(Context& context, const op::OpDef& op, const std::vector<Value>& args,
                                     const Attrs& attrs, const Derivative& d, int64_t& compared);

}  // namespace relay::sweep
