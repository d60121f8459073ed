// Steps: a kernel as a list of stores, each with all loops around it.
//
//   for i in n { block y { spatial v in n = i;          is the steps
//     reduction r in m = j;                               for i:    t[i] = 0
//     init { t[v] = 0f; }                                 for i, j: t[i] += x[i, j]
//     t[v] = t[v] + x[v, r]; } }
//
// The loops of a step run to their end before the next step begins. That is a kernel's meaning
// where its loops can be taken apart; `steps_of` says where they cannot. What differentiates a
// kernel reads it in this form (adjoint.h).
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel {

struct StepAxis {
  Expr var, extent;  // the extent is over shape variables
};

enum class StepKind : uint8_t {
  kWrite,    // t[place] = value
  kAdd,      // t[place] = t[place] + value
  kExtremum  // t[place] = max or min of t[place] and value; the step before fills all of t with a constant
};

struct Step {
  const Buffer* buffer = nullptr;
  StepKind kind = StepKind::kWrite;
  ExprKind extremum = ExprKind::kMax;
  std::vector<StepAxis> axes;    // outermost first
  std::vector<Expr> conditions;  // each is looked at if those before it hold
  std::vector<Expr> place;
  Expr value;
};

struct Steps {
  std::vector<Step> steps;
  std::string reason = {};  // why there are none, as a clause: "a loop ... "; empty if there are
};

// A reduction over something else than a sum or an extremum becomes three steps around a buffer of
// all its intermediate values, which no kernel declares: each element is then written once.
Steps steps_of(const Kernel& k);

// Does the step write each element of its buffer once? Its place is then an axis for each dim, but
// for dims of 1.
bool covers(const Step& s);
// The same of the axes that its place mentions; others reduce, and conditions leave elements out.
bool has_own_place(const Step& s);
// The axes that its place does not mention.
std::vector<StepAxis> reduction_axes(const Step& s);

// `e` if all conditions hold, else `other`. No condition is evaluated if one before it fails.
Expr guarded(const std::vector<Expr>& conditions, Expr e, Expr other);

}  // namespace relay::kernel
