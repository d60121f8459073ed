// Scalar arithmetic as kernels do it: integers wrap to their dtype, floats are rounded to it.
//
// Integers and booleans are held as int64 (uint64 by its bits), floats as a double that is one of
// the dtype's values.
#pragma once

#include <cstdint>

#include "kernel/expr.h"
#include "runtime/dtype.h"

namespace relay::kernel::scalar {

int64_t wrapping_add(int64_t a, int64_t b);
int64_t wrapping_mul(int64_t a, int64_t b);

// The value that the dtype holds after wrapping; to bool: != 0.
int64_t wrap(DType d, int64_t v);
double round_to(DType d, double v);
int64_t to_integer(DType d, double v);  // see integer_of_real; to bool: != 0
double to_real(DType d, DType from, int64_t v);

// A binary operation on integers or booleans of dtype d. Throws relay::Trap for a division by zero
// and for a quotient that does not fit, and for a shift by at least the width.
int64_t binary(ExprKind kind, DType d, int64_t a, int64_t b);
int64_t compare(ExprKind kind, double a, double b);  // kEqual, kNotEqual, kLess, kLessEqual

double least(double a, double b);  // NaN if either is
double greatest(double a, double b);
int64_t math(Math fn, DType d, int64_t a);              // kAbs and the rounding functions, on integers
int64_t test(Math fn, double a);                        // kIsNan, kIsInf, kIsFinite
double math(Math fn, DType d, double a, double b = 0);  // computed in float for float32 and below

}  // namespace relay::kernel::scalar
