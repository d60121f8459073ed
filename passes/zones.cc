#include "passes/zones.h"

namespace relay::passes {

std::vector<uint32_t> zones(const Scopes& scopes, const std::vector<Expr>& order) {
  std::vector<bool> is_body_of_let(scopes.all.size());
  for (Expr e : order) {
    switch (e->kind) {
      case ExprKind::kLet: is_body_of_let[scopes.opens.get(e)] = true; break;
      case ExprKind::kFn:
      case ExprKind::kIf:
      case ExprKind::kMatch: break;  // what they open runs by itself, or not at all
      case ExprKind::kConstant:
      case ExprKind::kVar:
      case ExprKind::kGlobal:
      case ExprKind::kOpRef:
      case ExprKind::kCtorRef:
      case ExprKind::kTuple:
      case ExprKind::kProj:
      case ExprKind::kCall:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: break;  // opens no scope
    }
  }
  std::vector<uint32_t> out(scopes.all.size());
  for (uint32_t i = 0; i < out.size(); ++i) out[i] = is_body_of_let[i] ? out[scopes.all[i].parent] : i;
  return out;
}

}  // namespace relay::passes
