#include <algorithm>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

Outcome decompose_reduction(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  const Block* block = find_block(k.body, name.block);
  if (block->init == nullptr) return Outcome::refused(cat("block `", name.block, "` has no init"));

  const std::vector<const For*> loops = loops_around(k.body, block);
  std::vector<BlockIter> spatial;
  for (const BlockIter& i : block->iters) {
    if (i.kind == IterKind::kSpatial) {
      spatial.push_back(i);
      continue;
    }
    for (size_t d = 0; d < name.depth; ++d) {
      if (mentions(i.binding, loops[d]->var)) {
        return Outcome::refused(cat("the reduction loop `", show(loops[d]->var), "` stands further out"));
      }
    }
  }
  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  // The loops inside that the spatial iterators need; those of the reduction are at their
  // first iteration.
  std::vector<const For*> needed;
  std::unordered_map<const ExprNode*, Expr> at_first;
  for (size_t d = name.depth; d < loops.size(); ++d) {
    const bool used = std::any_of(spatial.begin(), spatial.end(),
                                  [&](const BlockIter& i) { return mentions(i.binding, loops[d]->var); });
    if (used) {
      needed.push_back(loops[d]);
    } else {
      at_first[loops[d]->var.get()] = pool.integer(0);
    }
  }
  // Of the predicate, what speaks of the reduction holds at the first iteration.
  const Expr predicate = block->predicate ? substitute(block->predicate, at_first) : Expr();
  Stmt init = make_block(pool, unused_block_name(k.body, cat(name.block, "_init")), spatial, predicate,
                         nullptr, block->init);
  for (size_t i = needed.size(); i-- > 0;) {
    const ForKind how = needed[i]->how;
    init = changed_copy(arena, *needed[i], [&](For& f) {
      f.how = how;
      f.body = init;
    });
  }
  init = refresh(pool, init);
  Stmt update = make_block(pool, name.block, {block->iters.begin(), block->iters.end()}, block->predicate,
                           nullptr, block->body);
  Stmt nest = replace(arena, loop, block, update);
  return with_body(k, simplify(pool, replace(arena, k.body, loop, make_sequence(arena, {init, nest}))));
}

}  // namespace relay::kernel::schedule::primitives
