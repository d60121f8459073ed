// The prover: both sides of a rule as formulas over the elements of its inputs, for an SMT solver.
//
// An element of an integer tensor is a bit vector, of a boolean one a boolean. Floating-point
// elements are of a sort of which nothing is known, so that what is proved of them holds for each
// dtype: that they are moved alike. Indices and symbolic extents are integers. A tensor is a
// function from positions to elements. Constants that conditions speak of are any constants under
// these conditions; others are what they are.
//
// It proves: for each index of the result, both sides trap or neither does, and then the elements
// are equal.
#pragma once

#include <z3++.h>

#include <string>

#include "tests/rules/instances.h"

namespace relay::passes::rules::testing {

struct Proof {
  enum class Kind : uint8_t { kProved, kRefuted, kUnknown, kOutside };
  Kind kind = Kind::kUnknown;
  std::string reason;  // a counter-example; what the prover does not know; why the solver gave up
  unsigned steps = 0;  // of the solver
};

// `right` is what `applied` gave without folding.
Proof prove(const Instance& i, const Module& right);

}  // namespace relay::passes::rules::testing
