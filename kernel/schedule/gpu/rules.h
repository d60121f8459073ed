// The rules of the GPU schedule, each for one form of stage. A rule that does not apply gives null.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernel/schedule/anchored_stage.h"
#include "kernel/schedule/gpu/schedule.h"
#include "kernel/schedule/primitives/primitive.h"

namespace relay::kernel::schedule::gpu {

using primitives::divide_up;

inline constexpr int64_t kWorthSharing = 64;  // terms of a reduction that is worth more than one thread
inline constexpr int64_t kThreads = 256;      // of a block, unless there is less to do

// body(i) for each i in [0, count), each on a thread of its own.
Stmt on_threads(Writer& w, const target::Gpu& gpu, Expr count, const std::function<Stmt(Expr)>& body);
// A loop that is bound to an index of the grid even if it has one iteration: the
// others stand still.
Stmt bound(Writer& w, ForKind index, int64_t extent, const std::function<Stmt(Expr)>& body);

// t[i] = value.
Stmt write_elements(Writer& w, const target::Gpu& gpu, const Stage& stage);
// A reduction, one thread an element.
Stmt write_reductions(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored);
// A reduction that threads share: a warp or a block an element.
Stmt write_row_reduction(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored);
// Sums of products of two operands: a block computes a tile of results, from tiles of the operands
// in shared memory.
Stmt write_tiled_product(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored);
bool is_tiled_product(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored);
// Stages that all go along the same rows, at least one of which joins what is in a row. `others`
// are those of the kernel besides these.
Stmt write_row_blocks(Writer& w, const target::Gpu& gpu, const Kernel& k,
                      std::span<const Stage* const> stages, std::span<const Stage* const> others);
// Of shared memory, for tensors of these rows that stay in the block; the rest is for
// partial results.
int64_t row_bytes_in_block(const target::Gpu& gpu);

// How the threads of a row join their partial results: `partial` is (rows of the block, threads of
// a row), each element written by its thread. Afterwards element 0 of each row holds the result.
Stmt join_partials(Writer& w, const std::string& name, const Buffer* partial, const Combination& combine);
// What changes nothing when it is combined; null if there is no such constant.
Expr neutral(Writer& w, const Combination& combine, DType dtype);

// The number that the extents multiply to; nothing if one is symbolic or the product
// is beyond 32 bits.
std::optional<int64_t> constant_product(const std::vector<Expr>& extents);

}  // namespace relay::kernel::schedule::gpu
