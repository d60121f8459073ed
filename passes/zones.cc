#include "passes/zones.h"

namespace relay::passes {

std::vector<uint32_t> zones(const Scopes& scopes, const std::vector<Expr>& order) {
  std::vector<bool> is_body_of_let(scopes.all.size());
  for (Expr e : order) {
    if (e->kind == ExprKind::kLet) is_body_of_let[scopes.opens.get(e)] = true;
  }
  std::vector<uint32_t> out(scopes.all.size());
  for (uint32_t i = 0; i < out.size(); ++i) out[i] = is_body_of_let[i] ? out[scopes.all[i].parent] : i;
  return out;
}

}  // namespace relay::passes
