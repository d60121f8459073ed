// Effects: what of an evaluation can be noticed. Passes that drop or move expressions ask here.
//
// Dropping a use counts as moving, too: a shared expression that keeps one use is no longer
// evaluated where its scope begins but where it stands (docs/semantics.md, "Sharing").
#pragma once

#include <optional>

#include "analysis/user_kernels.h"
#include "ir/analysis.h"
#include "op/op_def.h"

namespace relay::analysis {

// What the types of a call's arguments say of its shapes.
enum class Fit : uint8_t {
  kProved,   // they fit
  kChecked,  // extents are compared when the program runs
  kUnknown,  // nothing: what a type parameter stands for is not known here
};
Fit fit_of(Context& context, const Call& call, const op::OpDef& op);
// Could the shapes of the arguments be wrong when the program runs? They were neither proved
// nor refuted then.
bool checks_shapes(Context& context, const Call& call, const op::OpDef& op);
// Could it trap for some values of its arguments?
bool may_trap_on_values(const Call& call, const op::OpDef& op);
// Could the call trap, for some values or shapes?
bool may_trap(Context& context, const Call& call, const op::OpDef& op);

// May a pass exchange two evaluations that trap? It may where `keeps_trap_order` (trap_order.h)
// finds none exchanged.
enum class TrapOrder : uint8_t { kFree, kKept };

class Effects {
 public:
  // Of expressions that may still be changing, whose uses are not counted.
  explicit Effects(const Module& m, TrapOrder traps = TrapOrder::kFree)
      : context_(m.context()), kernels_(m), traps_(traps) {}
  // Of the expressions of this root, where more can be said of closures.
  Effects(const Module& m, Expr root, TrapOrder traps = TrapOrder::kFree)
      : context_(m.context()), kernels_(m), traps_(traps), uses_(scopes(root).uses) {}

  // Evaluating it cannot be noticed: it ends without a trap and touches no cell. It may be dropped.
  bool silent(Expr e) { return known(e) & kSilent; }
  // Evaluating it earlier or later in its scope cannot be noticed: it touches no cell and calls
  // nothing unknown. It may trap, unless the order of traps is kept.
  bool steady(Expr e) { return known(e) & (traps_ == TrapOrder::kKept ? kSilent : kSteady); }

 private:
  enum Bits : uint8_t {
    kKnown = 1,
    kSilent = 2,
    kSteady = 4,
    kSharesEffect = 8,  // there is something shared in it, functions included, that is not silent
  };
  uint8_t known(Expr e);
  uint8_t decide(Expr e);

  Context& context_;
  UserKernels kernels_;
  TrapOrder traps_ = TrapOrder::kFree;
  NodeMap<uint8_t> bits_;
  std::optional<NodeMap<uint32_t>> uses_;
};

}  // namespace relay::analysis
