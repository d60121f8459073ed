// The rules of the CPU schedule, each for one form of stage. A rule that does not apply gives null.
#pragma once

#include <optional>
#include <span>

#include "kernel/schedule/cpu.h"
#include "kernel/schedule/primitive.h"
#include "kernel/schedule/stage.h"
#include "kernel/schedule/writer.h"

namespace relay::kernel::schedule {

// A stage and the elementwise one that its results go through before they are stored, if any.
struct Work {
  Stage stage;
  std::optional<Stage> epilogue = {};

  const Buffer* output() const { return epilogue ? epilogue->buffer : stage.buffer; }
  // output[at] = the epilogue of the stage's result there.
  Stmt write_back(Writer& w, const std::vector<Expr>& at, Expr result) const;
  // The axes of the stage's spatial iterators as bound to `at`, for blocks that call write_back with their variables.
  std::vector<Expr> variables() const;
  std::vector<Binding> bind(const std::vector<Expr>& at) const;
};

// t[i] = value: rows in parallel, the contiguous axis in vectors.
Stmt write_elementwise(Writer& w, const CpuOptions& options, const Stage& stage);
// Tensors in blocks: their last axis is a few whole vectors. t[i] = value, with branches where lanes do not differ.
Stmt write_lanes(Writer& w, const CpuOptions& options, const Stage& stage);
// t[i] = one of several formulas, chosen by other axes, which are written out.
Stmt write_formulas(Writer& w, const CpuOptions& options, const Stage& stage);
// Reductions into such an axis: register tiles over the others.
Stmt write_tiles(Writer& w, const CpuOptions& options, const Work& work);
// Reductions over small windows into such an axis, of images with padding around them.
Stmt write_windows(Writer& w, const CpuOptions& options, const Work& work);
// Is it one, once what is_padding is computed in it?
bool is_window(const CpuOptions& options, const Stage& s);
bool is_padding(const Stage& s);
// Stages that all go along rows, of which they have a reduction and something else: row by row. Only the tensors `kept`
// are looked at afterwards.
Stmt write_rows(Writer& w, const CpuOptions& options, std::span<const Buffer* const> kept,
                const std::vector<Stage>& stages);
// A whole kernel that is a product, what goes along its rows, and a product with the result: a few rows at a time.
Stmt write_attention(Writer& w, const CpuOptions& options, const Kernel& k, const std::vector<Stage>& stages);
// Products of matrices in panels: an operand whose columns are grouped, two vectors a group, or worth to be put so.
Stmt write_product(Writer& w, const CpuOptions& options, const Work& work);
// The same in two steps, for products that are computed in parts: what puts the operand into panels, and the stage that
// then reads it there.
struct PackedProduct {
  Stmt pack = nullptr;
  Stage stage;
};
std::optional<PackedProduct> pack_product(Writer& w, const CpuOptions& options, const Stage& stage);
// Products of an operand that varies along rows and one that varies along columns, summed: register tiles of
// rows x columns; an operand that is not contiguous along the columns is packed first. Also sums down columns.
Stmt write_contraction(Writer& w, const CpuOptions& options, const Work& work);
// Reductions along an axis that is contiguous in every operand: partial results in the lanes of vectors.
Stmt write_dot(Writer& w, const CpuOptions& options, const Work& work);
// Any reduction: one accumulator an element.
Stmt write_reduction(Writer& w, const CpuOptions& options, const Work& work);

// Is the axis a few vectors long, without a remainder?
bool has_whole_vectors(const Axis& axis, int64_t width);
// Is the index that of the axis itself? (The only value of an axis of extent 1 may stand for its variable.)
bool is_place(Expr index, const Axis& axis);

// How a load moves along an axis: not at all, by one element, or in another way.
enum class Stride { kNone, kOne, kOther };
Stride stride_along(const ExprNode* load, Expr var);
// The worst of all loads of the expression. A load that only a condition keeps inside its buffer, for all that is known
// about the variables, is kOther.
Stride worst_stride(Expr e, Expr var, const Bounds& bounds);
// Can a loop over the variable be marked as vectorized: float32 throughout, at most unit strides?
bool vectorizable(Expr e, Expr var, const Bounds& bounds);

// The expression with `by` in the place of what it loads from the buffer.
Expr replace_loads(Expr e, const Buffer* buffer, Expr by);

// What a symbolic extent is taken to be, and any extent then.
inline constexpr int64_t kUnknownExtent = 64;
int64_t guess(Expr extent);

// Is it worth starting threads? Unknown sizes are taken to be large.
ForKind outer_kind(const CpuOptions& options, const std::vector<Expr>& space);

// Consecutive pieces of an axis, each cut into tiles of one constant size.
struct Segment {
  Expr start, tiles;
  int64_t size = 1;
};
// Tiles of `size` as far as they go, then of the smaller sizes given; the last size must be 1.
std::vector<Segment> segments(Expr extent, const std::vector<int64_t>& sizes);

}  // namespace relay::kernel::schedule
