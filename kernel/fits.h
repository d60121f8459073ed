// Fits: do the extents and indices of a kernel stay within 64 bits?
//
// Simplification and proofs take sums and products of indices not to wrap (simplify.h). What a user
// wrote may wrap all the same, as `n + 9223372036854775807` does: then the proofs say nothing. A
// kernel of a user requires this condition first.
#pragma once

#include <span>

#include "kernel/simplify.h"

namespace relay::kernel {

// A condition under which no sum and no product of the int64 expression wraps; the constant true if
// the ranges exclude it. `known` are expressions that fit, as the extents of tensors that exist do.
// A sum or product of loaded numbers is data, and may wrap. A sum of several terms has to be
// smaller: each term has an equal share of what fits.
Expr fits(Expr e, const Bounds& bounds, std::span<const Expr> known);

}  // namespace relay::kernel
