#include "kernel/schedule/primitives/dependence.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// Does each iteration write a range of its own? True if some iterator moves on by at least as much
// as the loops inside make it vary. Bindings with divisions come from splitting and fusing, which
// share points out one to one.
bool disjoint(const For& loop, const Block& b) {
  std::unordered_map<const ExprNode*, Expr> at_start{{loop.var.get(), loop.var->pool->integer(0)}};
  std::unordered_map<const ExprNode*, Expr> at_second{{loop.var.get(), loop.var->pool->integer(1)}};
  Bounds inside;
  std::unordered_map<const ExprNode*, Expr> inner_zero;
  visit(loop.body, [&](Stmt s) {
    if (const auto* f = s->as<For>()) {
      inside.bind(f->var, f->extent);
      inner_zero[f->var.get()] = f->var->pool->integer(0);
    }
  });
  for (const BlockIter& i : b.iters) {
    if (i.kind != IterKind::kSpatial || !mentions(i.binding, loop.var)) continue;
    const Expr step = substitute(i.binding, at_second) - substitute(i.binding, at_start);
    if (step->kind != ExprKind::kInt) return true;  // not linear
    const Expr varying =
        substitute(i.binding, at_start) - substitute(substitute(i.binding, at_start), inner_zero);
    const Interval spread = inside.of(varying);
    if (spread.low && spread.high && *spread.high - *spread.low < std::abs(step->int_value)) return true;
  }
  return false;
}

}  // namespace

std::string dependence(const For& loop) {
  std::unordered_set<const Buffer*> own;  // memory that each iteration has for itself
  visit(loop.body, [&](Stmt s) {
    if (const auto* a = s->as<Allocate>()) own.insert(a->buffer);
  });
  for (const Block* b : outermost_blocks(loop.body)) {
    bool spatial = false;
    for (const BlockIter& i : b->iters) {
      if (!mentions(i.binding, loop.var)) continue;
      if (i.kind == IterKind::kSpatial) {
        spatial = true;
      } else if (std::any_of(b->writes.begin(), b->writes.end(),
                             [&](const Region& r) { return !own.contains(r.buffer); })) {
        return cat("block `", b->name.text(), "` reduces over the loop");
      }
    }
    for (const Region& w : b->writes) {
      if (own.contains(w.buffer)) continue;
      if (!spatial) return cat("all iterations write the same elements of `", w.buffer->name.text(), "`");
      if (!disjoint(loop, *b))
        return cat("iterations overlap in what they write of `", w.buffer->name.text(), "`");
    }
  }
  return {};
}

}  // namespace relay::kernel::schedule::primitives
