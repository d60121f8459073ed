// How far a result of one operator may be away, as its tolerance says (docs/semantics.md).
#pragma once

#include <span>
#include <vector>

#include "ir/context.h"
#include "op/op_def.h"
#include "runtime/compare.h"
#include "runtime/value.h"

namespace relay::op {

// Of Tolerance::Kind::kUlps: the exact result rounded once, which `+ - * / sqrt` are. It is half a
// unit away, so there is one right result, and a program of this call alone gives it bit for bit.
// Beside others the call may be contracted with one, and is then off by 1 ULP.
inline constexpr double kRoundedOnce = 0.5;
bool is_rounded_once(const OpDef& op);

// Is the operator the largest or smallest of many elements? Of zeros of both signs it gives either,
// as that depends on the order in which an engine compares them. All else in it is exact.
bool gives_either_zero(const OpDef& op);

// The bound of each tensor that a call gives, for the arguments and results of one run, in a
// program of this call alone. Floats of a reduction may be off by 2 (n + 2) u times the sum of
// |terms|, those of a function by some ULP. All else is exact.
std::vector<Bound> bounds(Context& context, const OpDef& op, std::span<const Value> args, const Attrs& attrs,
                          std::span<const Tensor> results);

}  // namespace relay::op
