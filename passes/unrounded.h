// Which elements of `+ - * / sqrt` are the exact result, so that nothing was rounded.
#pragma once

#include <functional>
#include <span>

#include "op/op_def.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

namespace relay::passes {

// Is the element of this number exact? `result`: what the operator, which rounds once
// (op::is_rounded_once), gives for `args`. Every engine gives such an element bit for bit, also one
// that contracts the operator with another: there was nothing that the other one could keep.
std::function<bool(int64_t)> unrounded(const op::OpDef& def, std::span<const Value> args,
                                       const Tensor& result);

}  // namespace relay::passes
