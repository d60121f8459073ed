// Derivatives of what a kernel computes for one element, by the elements that it loads.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

// What an element that is loaded has a part in, times how far that moves the result.
struct Contribution {
  const ExprNode* load;      // of a buffer of floats
  std::vector<Expr> guards;  // the choices that have to be made for it, outermost first
  Expr value;                // defined where the guards hold
};

struct Derivative {
  std::vector<Contribution> contributions;  // by load and guards, in order of first occurrence
  std::string reason = {};                  // why there is none, as a clause; empty if there is
};

// Of a value of floats; `seed` is the adjoint of it. A choice keeps what is not chosen from being
// evaluated: neither it nor its derivative need be defined.
Derivative derivative(Expr value, Expr seed);

}  // namespace relay::kernel
