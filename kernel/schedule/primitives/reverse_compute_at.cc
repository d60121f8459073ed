#include <algorithm>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/box.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

bool contains(const std::vector<const Block*>& list, const Block* b) {
  return std::find(list.begin(), list.end(), b) != list.end();
}

// The reduction loop among those around the block, from outside down to and with `until`; null
// if there is none.
const For* reduction_outside(Stmt root, const Block* block, const For* until) {
  for (const For* f : loops_around(root, block)) {
    for (const BlockIter& i : block->iters) {
      if (i.kind == IterKind::kReduction && mentions(i.binding, f->var)) return f;
    }
    if (f == until) break;
  }
  return nullptr;
}

ptrdiff_t position_in(const std::vector<const Block*>& list, const Block* b) {
  return std::find(list.begin(), list.end(), b) - list.begin();
}

// What one iteration of the loop finishes of the tensors that the block reads: a range for each of
// the block's iterators that depends on the loop. Says in `reason` why the block cannot follow.
std::vector<std::optional<Range>> finished_by(const Kernel& k, const Block& block, const For& loop,
                                              std::string& reason) {
  const std::string_view name = block.name.text();
  const std::vector<const Block*> inside = outermost_blocks(loop.body), all = outermost_blocks(k.body);
  std::vector<std::optional<Range>> range(block.iters.size());
  // Adds what the writer finishes of the region; says why that is no box of the block's iterators.
  const auto add = [&](const Block* writer, const Region& r) -> std::string {
    if (const For* f = reduction_outside(k.body, writer, &loop))
      return cat("block `", writer->name.text(), "` is not done after an iteration: it reduces over `",
                 show(f->var), "`");
    std::string no_box;
    const std::optional<Box> box = box_written(loop.body, writer, r.buffer, no_box);
    if (!box) return no_box;
    for (size_t d = 0; d < box->size(); ++d) {
      const auto iter = std::find_if(block.iters.begin(), block.iters.end(),
                                     [&](const BlockIter& i) { return i.var == r.min[d]; });
      if (iter == block.iters.end() || !r.extent[d].is_int(1) || iter->extent != r.buffer->shape[d])
        return cat("block `", name, "` reads `", r.buffer->name.text(), "` at other places than its own");
      std::optional<Range>& known = range[static_cast<size_t>(iter - block.iters.begin())];
      if (known && (known->min != (*box)[d].min || known->extent != (*box)[d].extent))
        return cat("what the loop writes in dim ", d, " of `", r.buffer->name.text(),
                   "` differs between blocks or tensors");
      known = (*box)[d];
    }
    return {};
  };
  bool reads_loop = false;
  for (const Region& r : block.reads) {
    const std::vector<const Block*> from = writers(k.body, r.buffer);
    const bool in_loop =
        std::any_of(from.begin(), from.end(), [&](const Block* w) { return contains(inside, w); });
    for (const Block* w : from) {
      if (!in_loop && position_in(all, w) > position_in(all, inside.front()))
        reason = cat("block `", name, "` reads what is written after the loop");
      if (in_loop && !contains(inside, w))
        reason = cat("block `", w->name.text(), "` writes `", r.buffer->name.text(), "` outside the loop");
      if (!reason.empty()) return {};
    }
    reads_loop |= in_loop;
    for (const Block* w : from) {
      if (in_loop) reason = add(w, r);
      if (!reason.empty()) return {};
    }
  }
  if (!reads_loop) reason = cat("block `", name, "` reads nothing that the loop writes");
  return range;
}

}  // namespace

Outcome reverse_compute_at(const Kernel& k, std::string_view name, const LoopName& at) {
  const Block* block = find_block(k.body, name);
  if (block == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  std::string reason;
  const For* loop = find_loop(k, at, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (!is_plain(*block))
    return Outcome::refused(
        cat("block `", name, "` does not write each element once from its iteration variables"));
  const std::vector<const Block*> inside = outermost_blocks(loop->body), all = outermost_blocks(k.body);
  if (contains(inside, block)) return Outcome::refused(cat("block `", name, "` stands in the loop already"));
  if (loop->how != ForKind::kSerial)
    return Outcome::refused(cat("loop `", show(loop->var), "` is not serial"));
  const Store* store = single_store(*block);
  const auto position = [&](const Block* b) { return position_in(all, b); };
  if (position(block) < position(inside.back()))
    return Outcome::refused(cat("block `", name, "` runs before the loop"));

  const std::vector<std::optional<Range>> range = finished_by(k, *block, *loop, reason);
  if (!reason.empty()) return Outcome::refused(reason);
  for (const Block* b : readers(k.body, store->buffer)) {
    if (position(b) < position(block))
      return Outcome::refused(cat("block `", b->name.text(), "` reads its result before"));
  }

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  Bounds bounds;
  for (const For* f : loops_around(k.body, inside.front())) {
    bounds.bind(f->var, f->extent);
    if (f == loop) break;
  }
  std::vector<BlockIter> iters(block->iters.begin(), block->iters.end());
  std::vector<std::pair<Expr, Expr>> loops;  // variables and extents
  Expr predicate = pool.integer(1, kBool);
  for (size_t i = 0; i < iters.size(); ++i) {
    const Range r = range[i].value_or(Range{pool.integer(0), iters[i].extent});
    const Expr var = pool.variable(cat("a", i));
    loops.push_back({var, r.extent});
    bounds.bind(var, r.extent);
    iters[i].binding = r.min + var;
    predicate = logical_and(predicate, simplify(less(iters[i].binding, iters[i].extent), bounds));
  }
  Stmt nest = make_block(pool, name, iters, predicate, nullptr, block->body);
  for (size_t i = loops.size(); i-- > 0;)
    nest = make_for(arena, loops[i].first, loops[i].second, ForKind::kSerial, nest);
  Stmt moved = with(arena, *loop, &For::body, make_sequence(arena, {loop->body, nest}));
  return with_body(k, simplify(pool, remove_block(arena, replace(arena, k.body, loop, moved), block)));
}

}  // namespace relay::kernel::schedule::primitives
