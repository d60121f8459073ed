#include "aot/operands.h"

#include "ir/traverse.h"
#include "op/registry.h"

namespace relay::aot {

std::vector<Expr> operands_of(Expr e, const Module& module, const std::function<bool(Expr)>& is_direct) {
  std::vector<Expr> out;
  switch (e->kind) {
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kFn:
    case ExprKind::kIf:
    case ExprKind::kMatch: return out;
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kLet:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: for_each_child(e, [&](Expr child) { out.push_back(child); }); return out;
    case ExprKind::kCall: break;
  }
  const auto* call = e->as<Call>();
  // Of a view all arguments: one that is only there for its shape may trap.
  if (op::callee(*call)) return {call->args.begin(), call->args.end()};
  const auto* global = call->callee->as<Global>();
  const bool is_kernel = global && module.kernel(global->name.text());
  if (!is_kernel && !call->callee->as<CtorRef>() && !is_direct(call->callee)) out.push_back(call->callee);
  out.insert(out.end(), call->args.begin(), call->args.end());
  return out;
}

}  // namespace relay::aot
