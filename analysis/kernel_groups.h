// Which operator calls share a kernel. `fuse` makes kernels of these groups; a pass that wants
// fewer kernels rewrites, asks again, and keeps the better program.
//
// A call joins the group of its immediate post-dominator (the nearest later call through which all
// uses of its value flow) if every call on the way can be computed element by element. What may be
// joined follows from the operators' fusion classes alone. Groups never cross a scope: code in a
// branch stays in the branch.
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
#include "kernel/schedule/cost.h"
#include "target/target.h"

namespace relay::analysis {

struct GroupLimits {
  size_t most_calls = 64;  // in one group
  // A row of scores in attention, if it is known; 0 for no attention.
  int64_t longest_attention = kernel::schedule::kLongestScoreRow;
  // How many tensors of its shape a sum in one group has, a product or a convolution among them.
  // All addends are alive when the kernel runs. Of a long sum, smaller groups keep the sum so far.
  size_t most_addends = SIZE_MAX;
};

// Each group in evaluation order; the last call gives its result.
using KernelGroups = std::vector<std::vector<const Call*>>;
KernelGroups kernel_groups(const Module& m, Expr root, const target::Cpu& cpu,
                           const GroupLimits& limits = {});

}  // namespace relay::analysis
