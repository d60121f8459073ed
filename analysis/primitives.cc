#include "analysis/primitives.h"

#include "ir/analysis.h"

namespace relay::analysis {

std::unordered_set<Expr> inside_primitives(const std::vector<Expr>& order) {
  std::unordered_set<Expr> out;
  for (Expr e : order) {
    const auto* fn = e->as<Fn>();
    if (!fn || !fn->attrs.flag("Primitive")) continue;
    for (Expr part : post_order(fn->body)) out.insert(part);
  }
  return out;
}

}  // namespace relay::analysis
