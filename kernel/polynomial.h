// The canonical form of int64 expressions: a sum of products of atoms with constant coefficients.
//
// An atom is anything that is not itself a sum, a product or a constant. Arithmetic wraps, so the
// form is valid for data as well as for indices.
#pragma once

#include <vector>

#include "kernel/expr.h"

namespace relay::kernel::polynomial {

Expr add(ExprPool& pool, const std::vector<Expr>& args);
Expr multiply(ExprPool& pool, const std::vector<Expr>& args);

// The extent of two that broadcast. Operands of operands stand in one chain `((a, b), c)`, in
// canonical order, each once and without 1. An operand that is never 1 is the extent alone.
Expr broadcast(ExprPool& pool, Expr a, Expr b);

// A simpler equal of `a kind b` for division, remainder, min, max and comparisons, or null.
Expr simplify_binary(ExprPool& pool, ExprKind kind, Expr a, Expr b);

// The q with q * b == a for every value of the variables, or null: exact division of polynomials.
// Unlike a floor_div it says nothing of a divisor that is zero, so it is for sizes of which the
// product is known to hold.
Expr divide_exactly(ExprPool& pool, Expr a, Expr b);

// True if the value is known to be other than zero, because shape variables are never negative.
bool never_zero(Expr e);

// One term of a sum: coefficient * product of atoms (no atoms: the constant).
struct Term {
  int64_t coefficient;
  std::vector<const ExprNode*> atoms;  // in canonical order
};
std::vector<Term> terms(Expr e);

}  // namespace relay::kernel::polynomial
