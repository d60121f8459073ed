#include "op/extent_value.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/expr.h"
#include "op/apply.h"
#include "op/ops.h"

namespace relay::op {
namespace {

Expr integer(Builder& b, int64_t value) { return b.constant(Tensor::scalar_int(kInt64, value)); }

// The call that computes the node from the values of its operands.
Expr value_of_node(Builder& b, const kernel::ExprNode* n, const std::vector<Expr>& args) {
  const auto fold = [&](const OpDef& op) {
    Expr out = args[0];
    for (size_t i = 1; i < args.size(); ++i) out = call(b, op, {out, args[i]});
    return out;
  };
  switch (n->kind) {
    case kernel::ExprKind::kInt: return integer(b, n->int_value);
    case kernel::ExprKind::kAdd: return fold(kAdd);
    case kernel::ExprKind::kMul: return fold(kMultiply);
    case kernel::ExprKind::kFloorDiv: return fold(kFloorDivide);
    case kernel::ExprKind::kFloorMod: return fold(kFloorMod);
    case kernel::ExprKind::kMin: return fold(kMinimum);
    case kernel::ExprKind::kMax: return fold(kMaximum);
    case kernel::ExprKind::kBroadcast: {
      const Expr is_one = call(b, kEqual, {args[0], integer(b, 1)});
      return call(b, kWhere, {is_one, args[1], args[0]});
    }
    default: return nullptr;
  }
}

}  // namespace

Expr value_of_extent(Builder& b, Dim extent, const ValueOfVariable& variable) {
  if (extent.is_const()) return integer(b, extent.value());
  if (!extent.is_symbolic()) return nullptr;
  const kernel::ExprNode* root = extent.symbolic().get();
  // Operands first, without recursion: extents may be nested deeply.
  std::unordered_map<const kernel::ExprNode*, Expr> done;
  std::vector<std::pair<const kernel::ExprNode*, bool>> pending{{root, false}};
  while (!pending.empty()) {
    const auto [n, ready] = pending.back();
    pending.pop_back();
    if (done.contains(n)) continue;
    if (!ready && !n->args.empty()) {
      pending.emplace_back(n, true);
      for (const kernel::ExprNode* a : n->args) pending.emplace_back(a, false);
      continue;
    }
    std::vector<Expr> args;
    for (const kernel::ExprNode* a : n->args) args.push_back(done.at(a));
    const Expr value =
        n->kind == kernel::ExprKind::kVar ? variable(kernel::Expr(n)) : value_of_node(b, n, args);
    if (!value) return nullptr;
    done.emplace(n, value);
  }
  return done.at(root);
}

}  // namespace relay::op
