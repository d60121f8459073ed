// What is known of one operation, and lets it take fewer instructions than in general.
#pragma once

#include "kernel/kernel.h"
#include "kernel/simplify.h"

namespace relay::kernel::codegen {

// The floating value is known to be NaN or to lie within the integer dtype and within 32
// bits: it was clamped.
bool was_clamped_to(DType d, const ExprNode* n);

// The operand of a floating minimum or maximum that is a constant and not NaN, the right one if
// both are: such an operand cannot make the result NaN.
enum class Number : uint8_t { kNone, kLeft, kRight };
Number number_operand(const ExprNode* minimum_or_maximum);

// The dividend is not negative and the divisor is positive, so that all kinds of division are one.
bool divides_naturals(const ExprNode* division, const Bounds& bounds);

// Is it a quotient? Else a remainder.
inline bool is_quotient(const ExprNode* division) {
  return division->kind == ExprKind::kFloorDiv || division->kind == ExprKind::kTruncDiv;
}

}  // namespace relay::kernel::codegen
