#include "kernel/limits.h"

#include <algorithm>
#include <vector>

#include "base/cat.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// A statement that is to be looked at.
struct Pending {
  Stmt s;
  uint32_t nest;      // statements around it, and itself
  uint64_t bindings;  // the depth of what variables of the blocks around it stand for, at most
};

uint64_t deepest(const std::vector<Expr>& all) {
  uint64_t out = 0;
  for (Expr e : all) out = std::max<uint64_t>(out, e->depth);
  return out;
}

uint64_t deepest_binding(const Block& b) {
  uint64_t out = 0;
  for (const BlockIter& i : b.iters) out = std::max<uint64_t>(out, i.binding->depth);
  return out;
}

uint64_t deepest_bound(const Block& b) {
  uint64_t out = 0;
  for (const auto& regions : {b.reads, b.writes}) {
    for (const Region& r : regions) {
      for (const auto& list : {r.min, r.extent}) out = std::max(out, deepest({list.begin(), list.end()}));
    }
  }
  return out;
}

std::string deep_expression() { return cat("an expression is nested more than ", kDeepestExpr, " deep"); }

}  // namespace

std::string too_deep(const Kernel& k) {
  for (const auto& list : {k.inputs, k.outputs, k.temporaries}) {
    for (const Buffer* b : list) {
      if (deepest({b->shape.begin(), b->shape.end()}) > kDeepestExpr) return deep_expression();
    }
  }
  std::vector<Pending> pending{{k.body, 1, 0}};
  while (!pending.empty()) {
    const auto [s, nest, bindings] = pending.back();
    pending.pop_back();
    if (nest > kDeepestNest) return cat("statements are nested more than ", kDeepestNest, " deep");
    uint64_t depth = deepest(expressions(s)), inside = bindings;
    if (const auto* b = s->as<Block>()) {
      inside += deepest_binding(*b);
      depth = std::max(depth, deepest_bound(*b) + deepest_binding(*b));
    }
    if (const auto* a = s->as<Allocate>())
      depth = std::max(depth, deepest({a->buffer->shape.begin(), a->buffer->shape.end()}));
    if (bindings + depth > kDeepestExpr) return deep_expression();
    for (Stmt child : children(s)) pending.push_back({child, nest + 1, inside});
  }
  return {};
}

}  // namespace relay::kernel
