// The schedule primitives. Each gives a kernel that computes the same, or refuses and says why (primitive.h);
// each has a file of its own. `Schedule` (schedule.h) applies them by name and keeps a trace.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel/schedule/primitive.h"

namespace relay::kernel::schedule {

// Loops.

// One loop becomes two: the outer of ceil(extent / factor) iterations, the inner of `factor`. Where the factor is
// not known to divide the extent, the blocks inside get a predicate.
Outcome split(const Kernel& k, const LoopName& loop, int64_t factor);

// A loop and the only loop right inside it become one. Refused if the inner extent depends on the outer loop.
Outcome fuse(const Kernel& k, const LoopName& outer);

// The loops around the block at the given depths, which must stand directly one in the other, take the given
// order: reorder(k, "b", {2, 1}) exchanges two loops. Refused if an extent would lose the variable it depends on, or
// if the reduction is not one whose terms may come in any order.
Outcome reorder(const Kernel& k, std::string_view block, const std::vector<size_t>& order);

// The loop's iterations may run on any threads, or in the lanes of a vector: refused if a block inside reduces over
// the loop, or writes the same elements in all iterations. A vectorized loop also needs a constant extent and
// no loop inside. An unrolled loop needs a constant extent.
Outcome parallel(const Kernel& k, const LoopName& loop);
Outcome vectorize(const Kernel& k, const LoopName& loop);
Outcome unroll(const Kernel& k, const LoopName& loop);

// Blocks.

// The block's value replaces every load of what it writes. Refused unless the block writes each element of a
// temporary once from its iteration variables, without requirements.
Outcome compute_inline(const Kernel& k, std::string_view block);

// The block's computation is done where the tensor that it reads is written. Refused unless it is the only reader
// of a temporary, reads it at its own iteration variables only, and the writer is no reduction.
Outcome reverse_compute_inline(const Kernel& k, std::string_view block);

// The init of a reduction becomes a block of its own, NAME_init, in front of the loop; it runs over the block's
// spatial loops from there on inwards. Refused if a reduction loop stands further out.
Outcome decompose_reduction(const Kernel& k, const LoopName& loop);

// What the block writes is gathered in a local buffer inside the loop, and copied from there by a block NAME_copy at the
// loop's end. Refused unless the loops inside have constant extents, the block's init was not decomposed further
// out, and each spatial iterator is a sum of loops.
Outcome cache_write(const Kernel& k, const LoopName& loop);

// The block moves into a loop around a reader of what it writes, and computes there only the part that the loop's
// body reads. Refused unless the block writes each element of a temporary once from its iteration variables, all
// readers are in the loop, and what they read there is a box.
Outcome compute_at(const Kernel& k, std::string_view block, const LoopName& loop);

}  // namespace relay::kernel::schedule
