#include <algorithm>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// The spatial loops of a block further in than another loop.
struct Tile {
  std::vector<const For*> loops;
  std::vector<Expr> shape;                             // their extents
  std::unordered_map<const ExprNode*, Expr> at_first;  // the loops of the reduction at their begin
};

// Returns why the loops from `depth` on are no tile, or an empty text.
std::string find_tile(const Block& block, const std::vector<const For*>& loops, size_t depth, Tile& out) {
  const auto binds = [&](IterKind kind, Expr var) {
    return std::any_of(block.iters.begin(), block.iters.end(),
                       [&](const BlockIter& i) { return i.kind == kind && mentions(i.binding, var); });
  };
  for (size_t d = 0; d <= depth; ++d) {
    if (binds(IterKind::kReduction, loops[d]->var))
      return cat("the reduction loop `", show(loops[d]->var), "` stands further out");
  }
  for (size_t d = depth + 1; d < loops.size(); ++d) {
    if (!binds(IterKind::kSpatial, loops[d]->var)) {
      out.at_first[loops[d]->var.get()] = loops[d]->var->pool->integer(0);
      continue;
    }
    if (binds(IterKind::kReduction, loops[d]->var))
      return cat("loop `", show(loops[d]->var), "` is spatial and a reduction");
    if (loops[d]->extent->kind != ExprKind::kInt)
      return cat("the extent of `", show(loops[d]->var), "` is not constant");
    out.loops.push_back(loops[d]);
    out.shape.push_back(loops[d]->extent);
  }
  return {};
}

}  // namespace

Outcome cache_write(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  const Block* block = find_block(k.body, name.block);
  const Store* store = single_store(*block);
  if (store == nullptr) return Outcome::refused(cat("block `", name.block, "` is more than one store"));
  if (store->buffer->scope != Scope::kGlobal)
    return Outcome::refused(cat("`", store->buffer->name.text(), "` is local already"));
  if (writers(k.body, store->buffer).size() != 1)
    return Outcome::refused(cat("several blocks write `", store->buffer->name.text(), "`"));
  for (const Block* b : blocks(loop->body)) {
    const bool reads = std::any_of(b->reads.begin(), b->reads.end(),
                                   [&](const Region& r) { return r.buffer == store->buffer; });
    if (reads && b != block)
      return Outcome::refused(cat("block `", b->name.text(), "` reads the result inside the loop"));
  }

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  const std::vector<const For*> loops = loops_around(k.body, block);
  Tile tile;
  reason = find_tile(*block, loops, name.depth, tile);
  if (!reason.empty()) return Outcome::refused(reason);

  // The block on the tile: a coordinate for each of its loops.
  const Buffer* cache = new_buffer(pool, k, cat(store->buffer->name.text(), "_local"), store->buffer->dtype,
                                   tile.shape, Scope::kLocal);
  std::vector<BlockIter> iters(block->iters.begin(), block->iters.end());
  std::vector<Expr> at;
  for (const For* f : tile.loops) {
    at.push_back(pool.variable(f->var->name.text()));
    iters.push_back({at.back(), f->extent, IterKind::kSpatial, f->var});
  }
  const auto cached = [&](const ExprNode* n) {
    return n->buffer == store->buffer ? pool.load(cache, at) : Expr();
  };
  Stmt init = nullptr;
  if (block->init) {
    const auto* start = block->init->as<Store>();
    if (start == nullptr)
      return Outcome::refused(cat("the init of block `", name.block, "` is more than one store"));
    init = make_store(arena, cache, at, start->value);
  }
  Stmt update = make_block(pool, name.block, iters, block->predicate, init,
                           make_store(arena, cache, at, rewrite_loads(store->value, cached)));

  // The copy: the spatial iterators and the coordinates.
  std::vector<BlockIter> outward;
  for (const BlockIter& i : iters) {
    if (i.kind == IterKind::kSpatial) outward.push_back(i);
  }
  const Expr predicate = block->predicate ? substitute(block->predicate, tile.at_first) : Expr();
  Stmt copy = make_block(
      pool, unused_block_name(k.body, cat(name.block, "_copy")), outward, predicate, nullptr,
      make_store(arena, store->buffer, {store->indices.begin(), store->indices.end()}, pool.load(cache, at)));
  for (size_t i = tile.loops.size(); i-- > 0;)
    copy = make_for(arena, tile.loops[i]->var, tile.shape[i], ForKind::kSerial, copy);
  copy = refresh(pool, copy);

  Stmt body =
      make_allocate(arena, cache, make_sequence(arena, {replace(arena, loop->body, block, update), copy}));
  return with_body(k, simplify(pool, replace(arena, k.body, loop, with(arena, *loop, &For::body, body))));
}

}  // namespace relay::kernel::schedule::primitives
