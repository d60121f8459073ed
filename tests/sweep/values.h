// Values for the operands of a call.
#pragma once

#include "tests/property/bytes.h"
#include "tests/sweep/seeds.h"

namespace relay::sweep {

// Numbers of the operand's dtype in this shape. Mostly they are of the range of the seed's values,
// because these are in the operator's domain: indices that exist, scales that are positive. Some
// are what the seed has there. Some are special: infinities, NaN and the ends of integers, where no
// rounding of sums depends on them.
Tensor draw_values(const op::OpDef& op, const Operand& o, const Shape& shape, property::ByteSource& in);

}  // namespace relay::sweep
