#include <algorithm>
#include <unordered_map>

#include "base/cat.h"
#include "kernel/schedule/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// Is the value zero wherever all that it loads is zero?
bool vanishes(Expr value) {
  std::unordered_map<const ExprNode*, bool> zero;
  const auto is_zero = [&](const ExprNode* n) { return zero.at(n); };
  for (const ExprNode* n : post_order(value)) {
    bool& out = zero[n] = n->kind == ExprKind::kLoad;
    if (n->kind == ExprKind::kMul) out = std::any_of(n->args.begin(), n->args.end(), is_zero);
    if (n->kind == ExprKind::kAdd || n->kind == ExprKind::kCast)
      out = std::all_of(n->args.begin(), n->args.end(), is_zero);
  }
  return zero.at(value.get());
}

// A copy between a buffer and its padded twin, or the other way: a plain nest over `shape`.
Stmt copy_nest(ExprPool& pool, std::string_view name, const Buffer* to,
               const std::function<Expr(const std::vector<Expr>&)>& f) {
  Arena& arena = pool.arena();
  std::vector<BlockIter> iters;
  std::vector<Expr> at;
  for (size_t d = 0; d < to->shape.size(); ++d) {
    at.push_back(pool.variable(cat("vi", d)));
    iters.push_back({at[d], to->shape[d], IterKind::kSpatial, pool.variable(cat("i", d))});
  }
  Stmt nest = make_block(pool, name, iters, {}, nullptr, make_store(arena, to, at, f(at)));
  for (size_t d = at.size(); d-- > 0;)
    nest = make_for(arena, iters[d].binding, to->shape[d], ForKind::kSerial, nest);
  return nest;
}

}  // namespace

Outcome pad_einsum(const Kernel& k, std::string_view name, const std::vector<int64_t>& factors) {
  const Block* block = find_block(k.body, name);
  if (block == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  if (factors.size() != block->iters.size())
    return Outcome::refused(cat("block `", name, "` has ", block->iters.size(), " iterators, and ",
                                factors.size(), " factors were given"));
  for (int64_t f : factors) {
    if (f < 1 || f > kMostAlignment)
      return Outcome::refused(
          cat("an extent cannot be a multiple of ", f, " (at most ", kMostAlignment, ")"));
  }
  const std::vector<const For*> loops = loops_around(k.body, block);
  const bool plain_loops =
      loops.size() == block->iters.size() && !block->predicate &&
      std::equal(loops.begin(), loops.end(), block->iters.begin(), [](const For* f, const BlockIter& i) {
        return i.binding == f->var && f->extent == i.extent && f->how == ForKind::kSerial;
      });
  std::string reason;
  if (!plain_loops || perfect_nest(k, {std::string(name), 0}, reason).empty())
    return Outcome::refused(cat("block `", name, "` does not stand in one serial loop for each iterator"));
  const Store* store = single_store(*block);
  const auto* init = block->init ? block->init->as<Store>() : nullptr;
  if (store == nullptr || init == nullptr || store->value->kind != ExprKind::kAdd ||
      !is_commutative_reduction(*block))
    return Outcome::refused(cat("block `", name, "` is no sum with its init"));
  if (writers(k.body, store->buffer).size() != 1)
    return Outcome::refused(cat("several blocks write `", store->buffer->name.text(), "`"));

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  // Every access is at iterators, one for each dim and over all of it.
  std::unordered_map<const ExprNode*, size_t> number;
  for (size_t i = 0; i < block->iters.size(); ++i) number[block->iters[i].var.get()] = i;
  const auto at_iterators = [&](const Buffer* b, const auto& indices) {
    for (size_t d = 0; d < indices.size(); ++d) {
      const auto it = number.find(Expr(indices[d]).get());
      if (it == number.end() || block->iters[it->second].extent != b->shape[d]) return false;
    }
    return true;
  };
  const Expr self = pool.load(store->buffer, {store->indices.begin(), store->indices.end()});
  if (!at_iterators(store->buffer, store->indices))
    return Outcome::refused(cat("block `", name, "` does not write at its iterators"));
  for (const ExprNode* a : store->value->args) {
    if (self != a && !vanishes(a))
      return Outcome::refused(cat("what block `", name, "` sums up is no product of elements"));
  }
  std::unordered_map<const Buffer*, const Buffer*> twins;
  std::vector<const Buffer*> order;  // of the operands
  for_each_load(store->value, [&](const ExprNode* n) {
    if (self == n) return;
    if (!at_iterators(n->buffer, n->args))
      reason = cat("`", n->buffer->name.text(), "` is not read at iterators");
    for (size_t i = 0; i < factors.size(); ++i) {
      const BlockIter& it = block->iters[i];
      const bool padded = !floor_mod(it.extent, factors[i]).is_int(0);
      // Elsewhere a zero would meet what may be an infinity.
      if (padded && it.kind == IterKind::kReduction &&
          std::find(n->args.begin(), n->args.end(), it.var.get()) == n->args.end())
        reason =
            cat("`", n->buffer->name.text(), "` has no dim for `", show(it.var), "`, which would be padded");
    }
    if (twins.emplace(n->buffer, nullptr).second) order.push_back(n->buffer);
  });
  if (!reason.empty()) return Outcome::refused(reason);

  // Padded twins of the tensors, as far as they need one.
  const auto extent = [&](size_t i) { return divide_up(block->iters[i].extent, factors[i]) * factors[i]; };
  Kernel out = k;
  const auto twin = [&](const Buffer* b, const auto& indices) -> const Buffer* {
    std::vector<Expr> shape;
    for (size_t d = 0; d < indices.size(); ++d) shape.push_back(extent(number.at(Expr(indices[d]).get())));
    if (std::equal(shape.begin(), shape.end(), b->shape.begin())) return b;
    const Buffer* made = new_buffer(pool, out, cat(b->name.text(), "_pad"), b->dtype, shape, Scope::kGlobal);
    std::vector<const Buffer*> all(out.temporaries.begin(), out.temporaries.end());
    all.push_back(made);
    out.temporaries = arena.list(all);
    return made;
  };
  bool twice = false;
  for_each_load(store->value, [&](const ExprNode* n) {
    if (self == n) return;
    const Buffer*& t = twins[n->buffer];
    if (t == nullptr) {
      t = twin(n->buffer, n->args);
    } else {
      for (size_t d = 0; d < n->args.size(); ++d)
        twice |= t->shape[d] != (t == n->buffer ? n->buffer->shape[d] : extent(number.at(n->args[d])));
    }
  });
  if (twice)
    return Outcome::refused(cat("block `", name, "` reads an operand at iterators with different factors"));
  const Buffer* result = twin(store->buffer, store->indices);

  std::vector<Stmt> parts;
  for (const Buffer* b : order) {
    const Buffer* padded = twins.at(b);
    if (padded == b) continue;
    parts.push_back(copy_nest(pool, unused_block_name(k.body, padded->name.text()), padded,
                              [&](const std::vector<Expr>& at) {
                                Expr inside = pool.integer(1, kBool);
                                for (size_t d = 0; d < at.size(); ++d) {
                                  if (b->shape[d] != padded->shape[d])
                                    inside = logical_and(inside, less(at[d], b->shape[d]));
                                }
                                return select(inside, pool.load(b, at), pool.constant(0, b->dtype));
                              }));
  }
  std::vector<BlockIter> iters(block->iters.begin(), block->iters.end());
  for (size_t i = 0; i < iters.size(); ++i) iters[i].extent = extent(i);
  const auto padded = [&](Expr e) {
    return rewrite_loads(e, [&](const ExprNode* n) -> Expr {
      const std::vector<Expr> at(n->args.begin(), n->args.end());
      if (self == n) return pool.load(result, at);
      return pool.load(twins.at(n->buffer), at);
    });
  };
  const std::vector<Expr> place(store->indices.begin(), store->indices.end());
  Stmt nest = make_block(pool, name, iters, {}, make_store(arena, result, place, init->value),
                         make_store(arena, result, place, padded(store->value)));
  for (size_t i = loops.size(); i-- > 0;)
    nest = make_for(arena, loops[i]->var, iters[i].extent, ForKind::kSerial, nest);
  parts.push_back(nest);
  if (result != store->buffer) {
    parts.push_back(copy_nest(pool, unused_block_name(k.body, cat(name, "_crop")), store->buffer,
                              [&](const std::vector<Expr>& at) { return pool.load(result, at); }));
  }
  return with_body(out, simplify(pool, replace(arena, k.body, loops.front(), make_sequence(arena, parts))));
}

}  // namespace relay::kernel::schedule
