// The schedule primitives. Each gives a kernel that computes the same, or refuses and says
// why (primitive.h); each has a file of its own. `Schedule` (schedule.h) applies them by name
// and keeps a trace.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel/schedule/primitives/primitive.h"

namespace relay::kernel::schedule::primitives {

// Loops.

// One loop becomes two: the outer of ceil(extent / factor) iterations, the inner of `factor`. Where
// the factor is not known to divide the extent, the blocks inside get a predicate.
Outcome split(const Kernel& k, const LoopName& loop, int64_t factor);

// A loop and the only loop right inside it become one. Refused if the inner extent depends
// on the outer loop.
Outcome fuse(const Kernel& k, const LoopName& outer);

// The loops around the block at the given depths, which must stand directly one in the other, take
// the given order: reorder(k, "b", {2, 1}) exchanges two loops. Refused if an extent would lose the
// variable it depends on, or if the reduction is not one whose terms may come in any order.
Outcome reorder(const Kernel& k, std::string_view block, const std::vector<size_t>& order);

// The loop's iterations may run on any threads, or in the lanes of a vector: refused if a block
// inside reduces over the loop, or writes the same elements in all iterations. A vectorized loop
// also needs a constant extent and no loop inside. An unrolled loop needs a constant extent.
Outcome parallel(const Kernel& k, const LoopName& loop);
Outcome vectorize(const Kernel& k, const LoopName& loop);
Outcome unroll(const Kernel& k, const LoopName& loop);

// The loop's iterations are those of a grid's index: kBlockX to kThreadZ. Refused as `parallel` is;
// and if the loop is not serial, its extent depends on the loops around, the index is bound by
// another loop around or inside, or a block's index would stand inside a thread's.
Outcome bind(const Kernel& k, const LoopName& loop, ForKind index);

// Blocks.

// The block's value replaces every load of what it writes. Refused unless the block writes each
// element of a temporary once from its iteration variables, without requirements.
Outcome compute_inline(const Kernel& k, std::string_view block);

// The block's computation is done where the tensor that it reads is written. Refused unless it
// is the only reader of a temporary, reads it at its own iteration variables only, and the
// writer is no reduction.
Outcome reverse_compute_inline(const Kernel& k, std::string_view block);

// The init of a reduction becomes a block of its own, NAME_init, in front of the loop; it runs over
// the block's spatial loops from there on inwards. Refused if a reduction loop stands further out.
Outcome decompose_reduction(const Kernel& k, const LoopName& loop);

// What the block writes is gathered in a local buffer inside the loop, and copied from there by a
// block NAME_copy at the loop's end. Refused unless the loops inside have constant extents, the
// block's init was not decomposed further out, and each spatial iterator is a sum of loops.
Outcome cache_write(const Kernel& k, const LoopName& loop);

// The block moves into a loop around a reader of what it writes, and computes there only the part
// that the loop's body reads. Refused unless the block writes each element of a temporary once from
// its iteration variables, all readers are in the loop, and what they read there is a box.
Outcome compute_at(const Kernel& k, std::string_view block, const LoopName& loop);

// The block moves to the end of a loop around the writers of what it reads, and computes there only
// what depends on the part that the loop's body has written. Refused unless the block writes each
// element once from its iteration variables and runs after the loop, the loop is serial, all
// writers of a tensor are inside it and done with their part after one iteration, that part is a
// box, and the block reads it at its own iteration variables.
Outcome reverse_compute_at(const Kernel& k, std::string_view block, const LoopName& loop);

// Each iteration of the loop begins with copying what the block reads of the buffer to a local or
// shared one, by a block BUFFER_cache, and the block reads that. Refused if the loop writes the
// buffer, what is read is no box of constant size, or the block contains loops.
Outcome cache_read(const Kernel& k, const LoopName& loop, std::string_view buffer, Scope scope);

// The reduction over the loop is done in two steps: block NAME_rf keeps a partial result for each
// iteration of the loop, which becomes spatial, and NAME combines them. The order of a sum changes.
// Refused unless the block is a sum, product, minimum, maximum, `and` or `or` with its init, alone
// in its loops, each index that it writes is an iterator of its own, and the loop is of the
// reduction alone with an extent that depends on no other loop.
Outcome rfactor(const Kernel& k, const LoopName& loop);

// The loops from there inwards become the body of a block NAME_o, with an iterator for each piece.
// Refused unless they stand one in the other around the block alone and are of constant extent, and
// each iterator divides into pieces that they go through. A predicate must not mention them. An
// init moves outside if the reduction goes on there.
Outcome blockize(const Kernel& k, const LoopName& loop);

// As blockize; and the body is replaced by the intrinsic's implementation (intrinsics.h). Refused
// unless the loops are those of the intrinsic's description and compute what it says; operands of
// machine instructions must be contiguous.
Outcome tensorize(const Kernel& k, const LoopName& loop, std::string_view intrinsic);

// Every extent is rounded up to a multiple of the factor for the block's iterator; the operands are
// copied to BUFFER_pad with zeros around, and NAME_crop takes out what is wanted. Refused unless
// the block is a sum of products of elements at its iterators, with its init, alone in a plain loop
// for each iterator, and every operand has a dim for each reduction iterator that grows.
Outcome pad_einsum(const Kernel& k, std::string_view block, const std::vector<int64_t>& factors);

// Buffers. Refused for inputs and outputs, which are as callers know them.

// Where the buffer lives. A temporary that becomes local or shared is allocated around the
// innermost statement that it may live in. Refused if that takes a constant size, at most 1 MiB,
// that it has not, or if threads that share it no longer could.
Outcome set_scope(const Kernel& k, std::string_view buffer, Scope scope);

// The stride of the dim becomes the least possible that is a multiple of the factor plus the
// offset. Refused for the innermost dim, if what stands inside the dim is of no constant extent, or
// if a dim further out was aligned before.
Outcome storage_align(const Kernel& k, std::string_view buffer, size_t dim, int64_t factor, int64_t offset);
inline constexpr int64_t kMostAlignment = 1 << 16;

// A dim of a buffer's new layout: dim `dim` of the old one, or its quotient or
// remainder by the factor.
struct LayoutDim {
  enum Part { kWhole, kQuotient, kRemainder };
  size_t dim = 0;
  Part part = kWhole;
  int64_t factor = 1;
};
// The elements of the buffer are stored in another order: {0, 1/16, 2, 3, 1%16} makes NCHW16c of
// NCHW. A dim that the factor does not divide is rounded up. Refused unless each dim stands there
// once, or once as quotient and once as remainder of one factor, and the buffer has no strides.
Outcome transform_layout(const Kernel& k, std::string_view buffer, const std::vector<LayoutDim>& layout);

}  // namespace relay::kernel::schedule::primitives
