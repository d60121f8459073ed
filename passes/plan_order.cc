#include "passes/plan_order.h"

#include <algorithm>
#include <unordered_map>

#include "ir/evaluation_order.h"
#include "ir/traverse.h"
#include "kernel/walk.h"

namespace relay::passes {
namespace {

std::vector<Expr> calls_of(std::vector<Expr> order) {
  std::erase_if(order, [](Expr e) { return e->kind != ExprKind::kCall; });
  return order;
}

// The calls of kernels that may trap, in the order given.
std::vector<Expr> traps_of(const Module& m, const std::vector<Expr>& order) {
  std::unordered_map<const kernel::Kernel*, bool> known;
  std::vector<Expr> out;
  for (Expr e : order) {
    const auto* call = e->as<Call>();
    const auto* global = call ? call->callee->as<Global>() : nullptr;
    const kernel::Kernel* k = global ? m.kernel(global->name.text()) : nullptr;
    if (!k) continue;
    const auto [it, is_new] = known.try_emplace(k, false);
    if (is_new) it->second = may_trap(*k);
    if (it->second) out.push_back(e);
  }
  return out;
}

}  // namespace

bool may_trap(const kernel::Kernel& k) {
  bool found = k.external != nullptr;
  kernel::visit(k.body, [&](kernel::Stmt s) { found = found || s->kind == kernel::StmtKind::kRequire; });
  return found;
}

std::vector<Expr> plan_order(const Module& m, Expr body) {
  std::vector<Expr> order = post_order(body), evaluated = evaluation_order(body);
  // Both have the same calls. Mostly in the same order, and then no kernel is looked at.
  if (calls_of(order) == calls_of(evaluated) || traps_of(m, order) == traps_of(m, evaluated)) return order;
  return evaluated;
}

}  // namespace relay::passes
