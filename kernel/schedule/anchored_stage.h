// Anchored stages, which the rules for all targets write: a reduction and the elementwise stage
// that follows it. And how loads move along an axis.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "kernel/schedule/long_sums.h"
#include "kernel/schedule/stage.h"
#include "kernel/schedule/writer.h"

namespace relay::kernel::schedule {

// A stage and the elementwise one that its results go through before they are stored, if any.
struct AnchoredStage {
  Stage stage;
  std::optional<Stage> epilogue = {};

  const Buffer* output() const { return epilogue ? epilogue->buffer : stage.buffer; }
  // output[at] = the epilogue of the stage's result there.
  Stmt write_back(Writer& w, const std::vector<Expr>& at, Expr result) const;
  // The axes of the stage's spatial iterators as bound to `at`, for blocks that call write_back
  // with their variables.
  std::vector<Expr> variables() const;
  std::vector<Binding> bind(const std::vector<Expr>& at) const;
};

// Reductions joined with the elementwise stage that alone reads them. The pair runs where
// that stage stood. Takes time linear in the statements.
std::vector<AnchoredStage> join_epilogues(const Kernel& k, const std::vector<Stage>& stages);

// The same stages where a shape variable has this value. Buffers keep their shapes.
AnchoredStage where(const AnchoredStage& anchored, Expr variable, int64_t value);

// Buffers that the stage loads, its own sum among them.
std::unordered_set<const Buffer*> loaded_by(const Stage& stage);

std::vector<Expr> extents_of(const std::vector<Axis>& axes);

// One element of a reduction, in a local sum, and what becomes of it.
Stmt reduce_element(Writer& w, const AnchoredStage& anchored, SumOrder order, const std::vector<Expr>& at);

// Does every load have the place of the element that is computed, or the same place for all
// elements? Then the tensor is one long row.
bool same_place_everywhere(const Stage& stage);

// Is the index that of the axis itself? (The only value of an axis of extent 1 may stand
// for its variable.)
bool is_place(Expr index, const Axis& axis);

// How a load moves along an axis: not at all, by one element, or in another way.
enum class Stride { kNone, kOne, kOther };
Stride stride_along(const ExprNode* load, Expr var);
// The worst of all loads of the expression. A load that only a condition keeps inside its buffer,
// for all that is known about the variables, is kOther.
Stride worst_stride(Expr e, Expr var, const Bounds& bounds);
// The expression with `by` in the place of what it loads from the buffer.
Expr replace_loads(Expr e, const Buffer* buffer, Expr by);

// What a symbolic extent is taken to be, and any extent then.
inline constexpr int64_t kUnknownExtent = 64;
int64_t guess(Expr extent);

}  // namespace relay::kernel::schedule
