// Simplification of index arithmetic that needs the ranges of variables.
#pragma once

#include <vector>

#include "kernel/bounds.h"
#include "kernel/kernel.h"

namespace relay::kernel {

// An equal expression without the divisions, remainders, minima, maxima, comparisons and selections
// that the bounds decide. Unchanged means the same pointer.
Expr simplify(Expr e, const Bounds& bounds);

// All expressions of a statement, with the bounds of its loops and of its blocks' iterators;
// conditions that always (or never) hold are removed with what they guard.
Stmt simplify(ExprPool& pool, Stmt s, Bounds bounds = {});
Kernel simplify(const Kernel& k);

// The position of an element in the buffer's memory, simplified: it rejoins what fused loops took
// apart, so that x[q // 7, q % 7] of a buffer of shape (n, 7) is at q; it knows the buffer's
// strides. What prints accesses should print this.
Expr flat_offset(const Buffer& buffer, const std::vector<Expr>& indices, const Bounds& bounds);

}  // namespace relay::kernel
