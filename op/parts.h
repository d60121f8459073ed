// What operators compute that are defined by others, part by part.
#pragma once

#include <functional>
#include <span>

#include "ir/context.h"
#include "op/op_def.h"
#include "runtime/value.h"

namespace relay::op {

using EvaluatePart =
    std::function<Value(Context&, const OpDef&, std::span<const Value> args, const Attrs& attrs)>;

// `evaluate` (op/apply.h), but each operator of an expansion is evaluated by `part`.
Value evaluate_by_parts(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                        Sums sums, const EvaluatePart& part);

}  // namespace relay::op
