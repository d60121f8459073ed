// Quasi-affine bindings: what the iterators of a block say about the loops around it.
//
// A quasi-affine binding is a sum of loop variables, each with a constant coefficient, and of
// quotients and remainders of such sums by constants. A loop variable that is divided is thereby
// written in digits, i // 4 and i % 4, and what two iterators say is independent if they use
// different digits: (i // 4, i % 4) reaches every pair of values, (i, 2*i) does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// Part of a loop variable: its value modulo `high`, divided by `low`. `high` 0 stands for
// all that is above.
struct Digits {
  const ExprNode* variable = nullptr;
  int64_t low = 1, high = 0;
};

// The digits of loop variables that the binding uses; nothing if that cannot be told (it divides a
// sum, or by what is not constant).
std::optional<std::vector<Digits>> digits_of(Expr binding);

// Do they share a digit?
bool overlap(const std::vector<Digits>& a, const std::vector<Digits>& b);

// Why the expression is not quasi-affine; empty if it is, or may be: minima, maxima and choices are
// not looked into.
std::string not_quasi_affine(Expr binding);

// The iterators that index parameters and temporaries; those of local buffers only say where
// something is put for a while.
std::vector<const BlockIter*> iters_of_tensors(const Block& block);
// Of these, the ones that index nothing that is written afresh: if they are wrong, another element
// is read or gone on with, and no element is left unwritten that would show it.
std::vector<const BlockIter*> iters_of_sources(const Block& block);

// The iterators of the block that are independent of each other: those that index parameters first,
// then those that index temporaries, then what else there is of reductions. What is left over says
// again what these say, or only where in a local buffer something is.
struct IndependentIters {
  std::vector<const BlockIter*> iters;
  std::vector<const BlockIter*>
      untold;  // their digits cannot be told: they may be independent of the others, or not
};
IndependentIters independent_iters(const Block& block, const Kernel& k);

}  // namespace relay::kernel
