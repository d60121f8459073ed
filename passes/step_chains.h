// Chains of steps: the products by one large weight in a recurrence whose steps are written out.
//
//   h1 = f(h0 W),  h2 = f(h1 W), ...
//
// with an f that makes each unit of the state of that unit's gates.
//
// A step of a chain takes as long as its weight takes to be read: the caches near a core do not
// hold the weight, and the step has so few rows that multiplying them takes less time than that.
// Both follow from the target. The dtype does not matter.
//
// No chain is found where
//  * the weight is no constant, or something else reads it, too;
//  * the state depends on more than one product, or on other units than its own: elementwise calls
//    and slices of gates are all that may stand between two products.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/module.h"
#include "target/target.h"

namespace relay::passes {

// The units of a value: elements [offset, offset + the units of a state) along its last axis.
struct Units {
  Expr e;
  int64_t offset;
  friend bool operator<(const Units& a, const Units& b) {
    return a.e->id != b.e->id ? a.e->id < b.e->id : a.offset < b.offset;
  }
};

struct ChainWeight {
  const Constant* constant;
  size_t output_axis;
  int64_t rows;          // that a step multiplies
  int64_t units, gates;  // a state has; each unit has
};

struct ChainStep {
  const Call* product;
  // How the units of its argument follow from the step before, in the order of evaluation; and what
  // is needed before as a whole.
  std::vector<Units> cell = {};
  std::vector<Expr> wholes = {};
};

// Each step depends on the one before.
struct StepChain {
  ChainWeight weight;
  std::vector<ChainStep> steps;

  // All units of a state, and nothing else.
  bool is_state(const Units& u) const;
};

struct ChainLimits {
  target::Cpu cpu;
  int64_t cores;      // whose caches together do not hold a weight; 0: those of none
  int64_t unit_step;  // divides the number of units
};

// How often the module has each constant, by where its elements are.
using ConstantUses = std::map<const void*, size_t>;
ConstantUses constant_uses(const Module& m);

// The chains of a function, by the place of their first products.
std::vector<StepChain> find_step_chains(const Module& m, const Fn* fn, const ConstantUses& uses,
                                        const ChainLimits& limits);

// The constant extent along the last axis, or -1.
int64_t last_extent(Expr e);
// Where a slice along the last axis alone, without gaps, begins.
std::optional<int64_t> begin_of_slice(Expr e);

}  // namespace relay::passes
