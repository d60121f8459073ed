// The rules of the CPU schedule, each for one form of stage. A rule that does not apply gives null.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "kernel/schedule/anchored_stage.h"
#include "kernel/schedule/cpu/schedule.h"
#include "kernel/schedule/primitives/primitive.h"

namespace relay::kernel::schedule::cpu {

using primitives::divide_up;

constexpr int64_t kEnoughTasks = 16;  // to keep the threads of a machine busy

// What every rule is told besides its stage.
struct Job {
  target::Cpu cpu;
  Settings settings;

  int64_t lanes() const { return cpu.lanes(); }
};

// t[i] = value: rows in parallel, the contiguous axis in vectors.
Stmt write_elementwise(Writer& w, const Job& job, const Stage& stage);
// Tensors in blocks: their last axis is a few whole vectors. t[i] = value, with branches where
// lanes do not differ.
Stmt write_lanes(Writer& w, const Job& job, const Stage& stage);
// t[i] = one of several formulas, chosen by other axes, which are written out.
Stmt write_formulas(Writer& w, const Job& job, const Stage& stage);
// Reductions into such an axis: register tiles over the others.
Stmt write_tiles(Writer& w, const Job& job, const AnchoredStage& anchored);
// Reductions over small windows into such an axis, of images with padding around them.
Stmt write_windows(Writer& w, const Job& job, const AnchoredStage& anchored);
// Is it one, once what is_padding is computed in it?
bool is_window(const Job& job, const Stage& s);
bool is_padding(const Stage& s);
// Stages that all go along rows, of which they have a reduction and something else: row by row.
// Only the tensors `kept` are looked at afterwards. Where the extents do not say how long a row is,
// it is no longer than `longest`.
Stmt write_rows(Writer& w, const Job& job, std::span<const Buffer* const> kept, std::span<const Stage> stages,
                int64_t longest = INT64_MAX);
// How many of the stages, from the first one on, it takes; 0 if it takes none.
size_t stages_along_rows(Writer& w, const Job& job, std::span<const Stage> stages);
// Stages that go over the same planes and have no better rules, with several reductions: plane by
// plane. Only the tensors `kept` are looked at afterwards.
Stmt write_planes(Writer& w, const Job& job, std::span<const Buffer* const> kept,
                  std::span<const AnchoredStage> stages);
// How many of the kernel's stages, from the first of these on, it takes; 0 if it takes none.
size_t stages_over_planes(const Kernel& k, const Job& job, std::span<const AnchoredStage> stages);
// A whole kernel that is a product, what goes along its rows, and a product with the result: a
// few rows at a time.
struct AttentionLoops {
  Stmt loops;
  Expr holds;  // what the loops count on, to be asked when the kernel runs; null: nothing
};
std::optional<AttentionLoops> write_attention(Writer& w, const Job& job, const Kernel& k,
                                              const std::vector<Stage>& stages);
// Products of matrices in panels: an operand whose columns are grouped, two vectors a group, or
// worth to be put so.
Stmt write_product(Writer& w, const Job& job, const AnchoredStage& anchored);
// How many rows write_product shares a panel between, and how many are too few for that. Nothing if
// it does not apply.
struct ProductRows {
  Expr count;
  int64_t too_few = 0;
};
std::optional<ProductRows> rows_of_product(const Job& job, const AnchoredStage& anchored);
// The same in two steps, for products that are computed in parts: what puts the operand into
// panels, and the stage that then reads it there.
struct PackedProduct {
  Stmt pack = nullptr;
  Stage stage;
};
std::optional<PackedProduct> pack_product(Writer& w, const Job& job, const Stage& stage);
// Products of an operand that varies along rows and one that varies along columns, summed: register
// tiles of rows x columns; an operand that is not contiguous along the columns is packed first.
// Also sums down columns.
Stmt write_contraction(Writer& w, const Job& job, const AnchoredStage& anchored);
// Reductions along an axis that is contiguous in every operand: partial results in the
// lanes of vectors.
Stmt write_dot(Writer& w, const Job& job, const AnchoredStage& anchored);
// The first of these rules for reductions that applies; null if none does. `reorders`: terms may be
// added in another order.
Stmt write_fast_reduction(Writer& w, const Job& job, const AnchoredStage& anchored, bool reorders);
// Any reduction: one accumulator an element.
Stmt write_reduction(Writer& w, const Job& job, const AnchoredStage& anchored);

// How a reduction with so many vectors of accumulators adds up its terms (long_sums.h).
SumOrder sum_order(const Job& job, const Stage& stage, int64_t vectors);

// Is the axis a few vectors long, without a remainder?
bool has_whole_vectors(const Axis& axis, int64_t width);
// Can a loop over the variable be marked as vectorized: float32 throughout, at most unit strides?
bool vectorizable(Expr e, Expr var, const Bounds& bounds);

// Is it worth starting threads? Unknown sizes are taken to be large.
ForKind outer_kind(const Job& job, const std::vector<Expr>& space);

// What tiles of `size` leave over of an axis: body(start, count), with code for each count that
// there may be; nothing for none. Which one it is the run finds by halves.
Stmt write_rest(Writer& w, Expr extent, int64_t size, const std::function<Stmt(Expr, int64_t)>& body);

// Consecutive pieces of an axis, each cut into tiles of one constant size.
struct Segment {
  Expr start, tiles;
  int64_t size = 1;
  int64_t most = 0;  // tiles, as larger ones are in front; 0: not known

  TermLoop loop() const {
    TermLoop out(tiles);
    return out.most == 0 ? TermLoop(tiles, most) : out;
  }
};
// Tiles of `size` as far as they go, then of the smaller sizes given; the last size must be 1.
std::vector<Segment> segments(Expr extent, const std::vector<int64_t>& sizes);

}  // namespace relay::kernel::schedule::cpu
