// parallel, vectorize and unroll: how a loop runs.
#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/schedule/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// Does each iteration write a range of its own? True if some iterator moves on by at least as much as the loops
// inside make it vary. Bindings with divisions come from splitting and fusing, which share points out one to one.
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

// Why the loop's iterations depend on each other, or nothing.
std::string dependence(const For& loop) {
  std::unordered_set<const Buffer*> own;  // memory that each iteration has for itself
  visit(loop.body, [&](Stmt s) {
    if (const auto* a = s->as<Allocate>()) own.insert(a->buffer);
  });
  for (const Block* b : blocks(loop.body)) {
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

Outcome annotate(const Kernel& k, const For& loop, ForKind how) {
  ExprPool& pool = *pool_of(k);
  return with_body(
      k, replace(pool.arena(), k.body, &loop, make_for(pool.arena(), loop.var, loop.extent, how, loop.body)));
}

}  // namespace

Outcome parallel(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (std::string why = dependence(*loop); !why.empty()) return Outcome::refused(why);
  for (const For* f : loops_around(k.body, find_block(k.body, name.block))) {
    if (f->how == ForKind::kParallel)
      return Outcome::refused(cat("loop `", show(f->var), "` is parallel already"));
  }
  return annotate(k, *loop, ForKind::kParallel);
}

Outcome vectorize(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (loop->extent->kind != ExprKind::kInt)
    return Outcome::refused(cat("the extent ", show(loop->extent), " is not constant"));
  if (std::string why = dependence(*loop); !why.empty()) return Outcome::refused(why);
  bool nested = false;
  visit(loop->body, [&](Stmt s) { nested |= s->as<For>() != nullptr; });
  if (nested) return Outcome::refused("the loop contains loops");
  return annotate(k, *loop, ForKind::kVectorized);
}

Outcome unroll(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (loop->extent->kind != ExprKind::kInt)
    return Outcome::refused(cat("the extent ", show(loop->extent), " is not constant"));
  return annotate(k, *loop, ForKind::kUnrolled);
}

}  // namespace relay::kernel::schedule
