#include <algorithm>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/box.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

Outcome blockize(const Kernel& k, const LoopName& name) {
  std::string reason;
  const std::vector<const For*> inner = perfect_nest(k, name, reason);
  if (inner.empty()) return Outcome::refused(reason);
  const Block* block = find_block(k.body, name.block);
  for (const For* f : inner) {
    if (block->predicate && mentions(block->predicate, f->var))
      return Outcome::refused(cat("the predicate of block `", name.block, "` mentions `", show(f->var), "`"));
    if (f->extent->kind != ExprKind::kInt)
      return Outcome::refused(cat("the extent of `", show(f->var), "` is not constant"));
    if (f->how == ForKind::kParallel || f->how >= ForKind::kBlockX)
      return Outcome::refused(cat("loop `", show(f->var), "` is spread over threads"));
  }

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  Bounds bounds;
  for (const For* f : loops_around(k.body, block)) bounds.bind(f->var, f->extent);
  // Each iterator is extent * outer + inner, where the loops inside give all of the inner part.
  std::vector<BlockIter> outer, within;
  bool reduction_outside = false;
  for (const BlockIter& i : block->iters) {
    const std::optional<Range> part = range_of(i.binding, inner);
    if (!part || part->extent->kind != ExprKind::kInt)
      return Outcome::refused(cat("iterator `", show(i.var), "` is no sum of the loops"));
    const int64_t size = part->extent->int_value;
    if (part->min.is_int(0) && i.extent.is_int(size)) {  // all of it stands inside
      within.push_back(i);
      continue;
    }
    const Expr rest = simplify(floor_mod(part->min, size), bounds);
    if (!rest.is_int(0) || !floor_mod(i.extent, size).is_int(0))
      return Outcome::refused(cat("iterator `", show(i.var), "` does not divide into pieces of ", size));
    const Expr var = pool.variable(cat(i.var->name.text(), "_o"));
    outer.push_back({var, floor_div(i.extent, size), i.kind, simplify(floor_div(part->min, size), bounds)});
    within.push_back({i.var, i.extent, i.kind, var * size + (i.binding - part->min)});
    reduction_outside |= i.kind == IterKind::kReduction;
  }

  // A reduction that goes on outside begins outside as well.
  Stmt init = nullptr;
  Stmt own_init = block->init;
  if (block->init && reduction_outside) {
    std::vector<BlockIter> spatial;
    for (const BlockIter& i : within) {
      if (i.kind == IterKind::kSpatial) spatial.push_back(i);
    }
    init = make_block(pool, unused_block_name(k.body, cat(name.block, "_init")), spatial, {}, nullptr,
                      block->init);
    for (size_t l = inner.size(); l-- > 0;) {
      const bool used = std::any_of(spatial.begin(), spatial.end(),
                                    [&](const BlockIter& i) { return mentions(i.binding, inner[l]->var); });
      if (used) init = with(arena, *inner[l], &For::body, init);
    }
    init = refresh(pool, init);
    own_init = nullptr;
  }
  Stmt body = make_block(pool, name.block, within, {}, own_init, block->body, block->instruction);
  body = replace(arena, inner.front(), block, body);
  Stmt whole =
      make_block(pool, unused_block_name(k.body, cat(name.block, "_o")), outer, block->predicate, init, body);
  return with_body(k, simplify(pool, replace(arena, k.body, inner.front(), whole)));
}

}  // namespace relay::kernel::schedule::primitives
