#include "analysis/fused.h"

#include <algorithm>
#include <vector>

#include "ir/traverse.h"

namespace relay::analysis {

bool is_fused(const Module& m) {
  return std::any_of(m.functions().begin(), m.functions().end(), [](const auto& f) {
    const std::vector<Expr> order = post_order(f.second);
    return std::any_of(order.begin(), order.end(), [](Expr e) {
      const auto* fn = e->as<Fn>();
      return fn && fn->attrs.flag("Primitive");
    });
  });
}

}  // namespace relay::analysis
