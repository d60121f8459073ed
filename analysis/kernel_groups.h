// Which operator calls share a kernel. `fuse` makes kernels of these groups; a pass that wants
// fewer kernels rewrites, asks again, and keeps the better program.
//
// A call joins the group of its immediate post-dominator (the nearest later call through which all
// uses of its value flow) if every call on the way can be computed element by element. What may be
// joined follows from the operators' fusion classes, and from what the target's rules accept (rows
// and attention below). Groups never cross a scope: code in a branch stays in the branch.
//
// Reductions share a group where everything goes along the same rows, as in a normalisation: a
// row is computed from one end to the other while it is in the cache. So do two products of
// matrices in attention, where the rows of the first, once normalised, are the rows that the
// second one multiplies. Extents may be open.
//
// Operators that only change a shape (OpDef::view) and stand alone are in no group: they need no
// kernel at all.
//
// User kernels join like operators, in the class that follows from what they read and write
// (user_kernels.h). One that cannot be read so, or may trap, is in no group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/module.h"
#include "kernel/schedule/accepts.h"

namespace relay::analysis {

// Of GroupLimits, unless fuse is asked for another number.
inline constexpr size_t kMostAddends = 4;

struct GroupLimits {
  size_t most_calls = 64;  // in one group
  // A row of scores in attention, if it is known; 0 for no attention.
  int64_t longest_attention = INT64_MAX;
  // The most tensors of their shape that the sums of one group add up, if one of the tensors is
  // Fusion::kOutputFusable: a product, for instance. All of them are alive when the kernel runs. A
  // gradient of a weight that each time step uses is such a sum. Smaller groups keep its sum so
  // far: each product adds itself. Other sums have no limit: one kernel reads each tensor once.
  size_t most_addends = kMostAddends;
};

// Each group in evaluation order; the last call gives its result.
using KernelGroups = std::vector<std::vector<const Call*>>;
KernelGroups kernel_groups(const Module& m, Expr root, const kernel::schedule::Accepts& accepts,
                           const GroupLimits& limits = {});

}  // namespace relay::analysis
