#include <algorithm>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/schedule/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// What changes nothing when it is combined with.
Expr identity(ExprPool& pool, ExprKind combine, DType dtype) {
  Builder b(pool);
  switch (combine) {
    case ExprKind::kMul: return pool.constant(1, dtype);
    case ExprKind::kMin: return b.highest(dtype);
    case ExprKind::kMax: return b.lowest(dtype);
    case ExprKind::kAnd: return pool.integer(1, kBool);
    case ExprKind::kOr: return pool.integer(0, kBool);
    default: return pool.constant(0, dtype);
  }
}

// The operand of the combination that is not the element itself.
Expr next_of(Expr value, Expr self) {
  if (value->kind == ExprKind::kAdd && value->dtype == kInt64) return value - self;
  if (value->args.size() != 2) return {};
  return self == value->args[0] ? value->args[1] : value->args[0];
}

Expr combine(ExprKind kind, Expr a, Expr b) { return a->pool->make(kind, a->dtype, {a, b}); }

Stmt nest(Arena& arena, const std::vector<Expr>& vars, const std::vector<Expr>& extents, Stmt body) {
  for (size_t i = vars.size(); i-- > 0;) body = make_for(arena, vars[i], extents[i], ForKind::kSerial, body);
  return body;
}

// Loops and iterators over all of `extents`.
struct Space {
  std::vector<Expr> loops, extents;
  std::vector<BlockIter> iters;
  std::vector<Expr> at;  // the iteration variables

  void add(ExprPool& pool, std::string_view name, Expr extent, IterKind kind) {
    loops.push_back(pool.variable(name));
    extents.push_back(extent);
    at.push_back(pool.variable(cat("v", name)));
    iters.push_back({at.back(), extent, kind, loops.back()});
  }
};

}  // namespace

Outcome rfactor(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  const Block* block = find_block(k.body, name.block);
  const std::vector<const For*> loops = perfect_nest(k, {name.block, 0}, reason);
  if (loops.empty()) return Outcome::refused(reason);
  const Store* store = single_store(*block);
  const auto* init = block->init ? block->init->as<Store>() : nullptr;
  if (store == nullptr || init == nullptr || !is_commutative_reduction(*block))
    return Outcome::refused(
        cat("block `", name.block, "` is no sum, product, minimum or maximum with its init"));
  if (writers(k.body, store->buffer).size() != 1)
    return Outcome::refused(cat("several blocks write `", store->buffer->name.text(), "`"));

  // The place that is written: spatial iterators, each a dim of its own and over all of it.
  std::vector<const BlockIter*> spatial;
  for (Expr index : store->indices) {
    const auto it = std::find_if(block->iters.begin(), block->iters.end(), [&](const BlockIter& i) {
      return i.var == index && i.kind == IterKind::kSpatial &&
             i.extent == store->buffer->shape[spatial.size()];
    });
    const bool again = std::any_of(spatial.begin(), spatial.end(), [&](auto* s) { return s->var == index; });
    if (it == block->iters.end() || again)
      return Outcome::refused(
          cat("block `", name.block, "` does not write each element by an iterator for each dim"));
    spatial.push_back(it);
  }
  bool reduces = false;
  for (const BlockIter& i : block->iters) {
    if (!mentions(i.binding, loop->var)) continue;
    reduces |= i.kind == IterKind::kReduction;
    if (i.kind == IterKind::kSpatial)
      return Outcome::refused(cat("loop `", show(loop->var), "` is not of the reduction alone"));
  }
  if (!reduces)
    return Outcome::refused(cat("block `", name.block, "` does not reduce over `", show(loop->var), "`"));
  for (Expr v : variables(loop->extent)) {
    if (!v->shape_variable)
      return Outcome::refused(cat("the extent of `", show(loop->var), "` depends on the loops around"));
  }
  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  const Expr self = pool.load(store->buffer, {store->indices.begin(), store->indices.end()});
  const Expr next = next_of(store->value, self);
  if (!next) return Outcome::refused(cat("block `", name.block, "` combines more than two values"));
  const ExprKind how = store->value->kind;

  // The partial results: the loop's iteration first.
  std::vector<Expr> shape{loop->extent};
  shape.insert(shape.end(), store->buffer->shape.begin(), store->buffer->shape.end());
  const Buffer* partial = new_buffer(pool, k, cat(store->buffer->name.text(), "_rf"), store->buffer->dtype,
                                     shape, Scope::kGlobal);

  // The other reduction loops get an iterator each; the block's own are sums of these.
  std::vector<BlockIter> iters;
  std::unordered_map<const ExprNode*, Expr> of_loop, of_iter;
  const Expr factored = pool.variable(loop->var->name.text());
  iters.push_back({factored, loop->extent, IterKind::kSpatial, loop->var});
  of_loop[loop->var.get()] = factored;
  for (const BlockIter& i : block->iters) {
    if (i.kind == IterKind::kSpatial) {
      iters.push_back(i);
      continue;
    }
    for (const For* f : loops) {
      if (f == loop || !mentions(i.binding, f->var) || of_loop.contains(f->var.get())) continue;
      for (const BlockIter& s : block->iters) {
        if (s.kind == IterKind::kSpatial && mentions(s.binding, f->var))
          return Outcome::refused(cat("loop `", show(f->var), "` is spatial and a reduction"));
      }
      const Expr var = pool.variable(f->var->name.text());
      iters.push_back({var, f->extent, IterKind::kReduction, f->var});
      of_loop[f->var.get()] = var;
    }
    of_iter[i.var.get()] = substitute(i.binding, of_loop);
  }
  // It stays a reduction, if only of one step.
  if (std::none_of(iters.begin(), iters.end(),
                   [](const BlockIter& i) { return i.kind == IterKind::kReduction; }))
    iters.push_back({pool.variable("step"), pool.integer(1), IterKind::kReduction, pool.integer(0)});
  // Steps beyond the end, where the loops were split, are done as well, and change nothing.
  Expr spatial_predicate = pool.integer(1, kBool), real = spatial_predicate;
  const std::vector<Expr> conditions = block->predicate ? conjuncts(block->predicate) : std::vector<Expr>();
  for (Expr condition : conditions) {
    const std::vector<Expr> all = variables(condition);
    const auto of_reduction = [&](Expr v) { return of_loop.contains(v.get()); };
    if (std::none_of(all.begin(), all.end(), of_reduction)) {
      spatial_predicate = logical_and(spatial_predicate, condition);
    } else if (std::all_of(all.begin(), all.end(),
                           [&](Expr v) { return v->shape_variable || of_reduction(v); })) {
      real = logical_and(real, substitute(condition, of_loop));
    } else {
      return Outcome::refused(
          cat("the predicate of block `", name.block, "` mixes the reduction with other loops"));
    }
  }
  std::vector<Expr> place{factored};
  place.insert(place.end(), store->indices.begin(), store->indices.end());
  const Expr so_far = pool.load(partial, place), nothing = identity(pool, how, partial->dtype);
  const Expr step = select(real, substitute(next, of_iter), nothing);
  Stmt update = make_block(pool, unused_block_name(k.body, cat(name.block, "_rf")), iters, spatial_predicate,
                           make_store(arena, partial, place, nothing),
                           make_store(arena, partial, place, combine(how, so_far, step)));
  Stmt steps = replace(arena, loops.front(), block, update);

  Space last;
  for (size_t d = 0; d < spatial.size(); ++d) last.add(pool, cat("i", d), shape[d + 1], IterKind::kSpatial);
  std::vector<Expr> at = last.at;
  last.add(pool, "r", loop->extent, IterKind::kReduction);
  std::vector<Expr> from{last.at.back()};
  from.insert(from.end(), at.begin(), at.end());
  std::unordered_map<const ExprNode*, Expr> own;
  for (size_t d = 0; d < spatial.size(); ++d) own[spatial[d]->var.get()] = at[d];
  Stmt result =
      nest(arena, last.loops, last.extents,
           make_block(pool, name.block, last.iters, {},
                      make_store(arena, store->buffer, at, substitute(init->value, own)),
                      make_store(arena, store->buffer, at,
                                 combine(how, pool.load(store->buffer, at), pool.load(partial, from)))));

  Kernel out = k;
  std::vector<const Buffer*> temporaries(k.temporaries.begin(), k.temporaries.end());
  temporaries.push_back(partial);
  out.temporaries = arena.list(temporaries);
  return with_body(
      out, simplify(pool, replace(arena, k.body, loops.front(), make_sequence(arena, {steps, result}))));
}

}  // namespace relay::kernel::schedule
