#include <algorithm>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/polynomial.h"
#include "kernel/schedule/primitives/box.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// Is the expression a sum of the variables with constant coefficients, and of what
// mentions none of them?
bool is_affine(Expr e, const std::vector<BlockIter>& iters) {
  for (const polynomial::Term& t : polynomial::terms(e)) {
    const auto uses = [&](const ExprNode* atom) {
      return std::any_of(iters.begin(), iters.end(),
                         [&](const BlockIter& i) { return mentions(atom, i.var); });
    };
    if (std::none_of(t.atoms.begin(), t.atoms.end(), uses)) continue;
    if (t.atoms.size() != 1 || t.atoms[0]->kind != ExprKind::kVar) return false;
  }
  return true;
}

// The part of each iterator that the loops inside of the cache give, as iterators of their own:
// v = outer + inner.
struct InnerPart {
  std::vector<BlockIter> iters;                     // those that there are
  std::unordered_map<const ExprNode*, Expr> inner;  // v -> its inner iterator, or 0
  std::unordered_map<const ExprNode*, Expr>
      outermost;  // v -> its value at the first iteration of the inner loops
};

std::string take_apart(ExprPool& pool, const Block& block, const std::vector<const For*>& loops,
                       InnerPart& out) {
  for (const BlockIter& i : block.iters) {
    const std::optional<Range> range = range_of(i.binding, loops);
    if (!range || range->extent->kind != ExprKind::kInt)
      return cat("iterator `", show(i.var), "` of block `", block.name.text(),
                 "` is no sum of loops of constant extent");
    out.outermost[i.var.get()] = range->min;
    out.inner[i.var.get()] = pool.integer(0);
    if (range->extent.is_int(1)) continue;
    const Expr var = pool.variable(cat(i.var->name.text(), "_in"));
    out.inner[i.var.get()] = var;
    out.iters.push_back({var, range->extent, i.kind, i.binding - range->min});
  }
  return {};
}

// Copies the box to the cache: an iterator for each place in the buffer, and one for each place in
// the cache. Parts of the box beyond the buffer are left out.
Stmt write_copy(const Kernel& k, const Block& block, const Box& box, const Buffer* buffer,
                const Buffer* cache) {
  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  Bounds bounds;
  for (const For* f : loops_around(k.body, &block)) bounds.bind(f->var, f->extent);
  std::vector<BlockIter> places;
  std::vector<Expr> from, to, loops;
  Expr predicate = pool.integer(1, kBool);
  for (size_t d = 0; d < box.size(); ++d) {
    loops.push_back(pool.variable(cat("a", d)));
    bounds.bind(loops[d], cache->shape[d]);
    const Expr place = box[d].min + loops[d];
    from.push_back(pool.variable(cat("v", d)));
    places.push_back({from[d], buffer->shape[d], IterKind::kSpatial, place});
    predicate = logical_and(predicate, simplify(less_equal(pool.integer(0), place), bounds));
    predicate = logical_and(predicate, simplify(less(place, buffer->shape[d]), bounds));
  }
  for (size_t d = 0; d < box.size(); ++d) {
    to.push_back(pool.variable(cat("c", d)));
    places.push_back({to[d], cache->shape[d], IterKind::kSpatial, loops[d]});
  }
  Stmt copy = make_block(pool, unused_block_name(k.body, cat(buffer->name.text(), "_cache")), places,
                         predicate, nullptr, make_store(arena, cache, to, pool.load(buffer, from)));
  for (size_t d = loops.size(); d-- > 0;)
    copy = make_for(arena, loops[d], cache->shape[d], ForKind::kSerial, copy);
  return copy;
}

}  // namespace

Outcome cache_read(const Kernel& k, const LoopName& name, std::string_view buffer_name, Scope scope) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  const Block* block = find_block(k.body, name.block);
  const Buffer* buffer = find_buffer(k, buffer_name);
  if (buffer == nullptr) return Outcome::refused(cat("there is no buffer `", buffer_name, "`"));
  if (scope == Scope::kGlobal) return Outcome::refused("a cache is local or shared");
  if (buffer->scope == scope)
    return Outcome::refused(cat("`", buffer_name, "` is in memory of that kind already"));
  if (!writers(loop->body, buffer).empty())
    return Outcome::refused(cat("the loop writes `", buffer_name, "`"));
  bool nested = false;
  for (Stmt part : {block->init, block->body}) {
    if (part) visit(part, [&](Stmt s) { nested |= s->as<For>() || s->as<Block>(); });
  }
  if (nested) return Outcome::refused(cat("block `", name.block, "` contains loops or blocks"));
  const std::optional<Box> box = box_read(loop->body, block, buffer, reason);
  if (!box) return Outcome::refused(reason);
  std::vector<Expr> shape;
  for (size_t d = 0; d < box->size(); ++d) {
    shape.push_back((*box)[d].extent);
    if (shape.back()->kind != ExprKind::kInt)
      return Outcome::refused(
          cat("what is read in dim ", d, " of `", buffer_name, "` is of no constant size"));
  }

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  InnerPart part;
  reason = take_apart(pool, *block, loops_around(loop->body, block), part);
  if (!reason.empty()) return Outcome::refused(reason);
  const Buffer* cache = new_buffer(pool, k, cat(buffer_name, "_cache"), buffer->dtype, shape, scope);

  // The block reads from the cache, at the distance of each index from the box's first element.
  const std::vector<BlockIter> own(block->iters.begin(), block->iters.end());
  const auto cached = [&](const ExprNode* n) -> Expr {
    if (n->buffer != buffer) return {};
    std::vector<Expr> at;
    for (size_t d = 0; d < n->args.size(); ++d) {
      const Expr index = n->args[d], first = substitute(index, part.outermost) - (*box)[d].min;
      if (!is_affine(index, own) || first->kind != ExprKind::kInt) {
        reason = cat("what block `", name.block, "` reads in dim ", d, " is not a range");
        return {};
      }
      std::unordered_map<const ExprNode*, Expr> zero;
      for (const BlockIter& i : own) zero[i.var.get()] = pool.integer(0);
      at.push_back(substitute(index, part.inner) - substitute(index, zero) + first);
    }
    return pool.load(cache, at);
  };
  const auto with_cache = [&](Stmt s) {
    return s ? rewrite_expressions(arena, s, [&](Expr e) { return rewrite_loads(e, cached); }) : nullptr;
  };
  Stmt init = with_cache(block->init), body = with_cache(block->body);
  if (!reason.empty()) return Outcome::refused(reason);
  std::vector<BlockIter> iters = own;
  iters.insert(iters.end(), part.iters.begin(), part.iters.end());
  Stmt reader = make_block(pool, name.block, iters, block->predicate, init, body);

  Stmt copy = write_copy(k, *block, *box, buffer, cache);
  Stmt inside =
      make_allocate(arena, cache, make_sequence(arena, {copy, replace(arena, loop->body, block, reader)}));
  Stmt around = with(arena, *loop, &For::body, inside);
  return with_body(k, simplify(pool, replace(arena, k.body, loop, around)));
}

}  // namespace relay::kernel::schedule::primitives
