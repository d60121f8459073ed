// Operators that take a value of any type, and give it back.
//
// Programs may call them on functions, cells and values of data types, which no other operator
// takes: code about operators asks here before it looks for tensors in the argument.
#pragma once

#include "op/op_def.h"
#include "op/ops.h"

namespace relay::op {

inline bool takes_any_type(const OpDef& op) {
  return &op == &kCheckpoint || &op == &kOnDevice || &op == &kDeviceCopy;
}

}  // namespace relay::op
