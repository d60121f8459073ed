#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "kernel/polynomial.h"
#include "kernel/schedule/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// What is read of one dim: [min, min + extent).
struct Range {
  Expr min, extent;
};

// The values that an index takes while the inner loops run, if they rise with each of them.
std::optional<Range> range_of(Expr index, const std::vector<const For*>& inner) {
  std::unordered_map<const ExprNode*, Expr> first, last;
  for (const For* f : inner) {
    if (!mentions(index, f->var)) continue;
    for (const polynomial::Term& t : polynomial::terms(index)) {
      const bool uses =
          std::any_of(t.atoms.begin(), t.atoms.end(), [&](const ExprNode* a) { return mentions(a, f->var); });
      const bool linear = t.atoms.size() == 1 && f->var == t.atoms[0] && t.coefficient > 0;
      if (uses && !linear) return std::nullopt;
    }
    first[f->var.get()] = index->pool->integer(0);
    last[f->var.get()] = f->extent - 1;
  }
  const Expr min = substitute(index, first), extent = substitute(index, last) - min + 1;
  for (const For* f : inner) {
    if (mentions(extent, f->var) || mentions(min, f->var)) return std::nullopt;
  }
  return Range{min, extent};
}

// The smallest range that holds both, if they lie at a constant distance.
std::optional<Range> join(const Range& a, const Range& b) {
  const Expr ahead = b.min - a.min;
  if (ahead->kind != ExprKind::kInt || a.extent->kind != ExprKind::kInt || b.extent->kind != ExprKind::kInt) {
    return a.min == b.min && a.extent == b.extent ? std::optional(a) : std::nullopt;
  }
  const int64_t low = std::min<int64_t>(0, ahead->int_value);
  const int64_t high = std::max(a.extent->int_value, ahead->int_value + b.extent->int_value);
  return Range{a.min + low, a.min->pool->integer(high - low)};
}

}  // namespace

Outcome compute_at(const Kernel& k, std::string_view name, const LoopName& at) {
  const Block* block = find_block(k.body, name);
  if (block == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  std::string reason;
  const For* loop = find_loop(k, at, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (!is_plain(*block))
    return Outcome::refused(
        cat("block `", name, "` does not write each element once from its iteration variables"));
  const Buffer* buffer = single_store(*block)->buffer;
  if (is_output(k, buffer)) return Outcome::refused(cat("block `", name, "` writes an output"));
  if (writers(k.body, buffer).size() != 1)
    return Outcome::refused(cat("block `", name, "` is not the only writer of its tensor"));
  if (loop->how != ForKind::kSerial)
    return Outcome::refused(cat("loop `", show(loop->var), "` is not serial"));

  ExprPool& pool = *pool_of(k);
  Arena& arena = pool.arena();
  const std::vector<const Block*> inside = blocks(loop->body);
  std::vector<std::optional<Range>> box(buffer->shape.size());
  for (const Block* reader : readers(k.body, buffer)) {
    if (std::find(inside.begin(), inside.end(), reader) == inside.end())
      return Outcome::refused(cat("block `", reader->name.text(), "` reads the tensor outside the loop"));
    std::unordered_map<const ExprNode*, Expr> bindings;
    for (const BlockIter& i : reader->iters) bindings[i.var.get()] = i.binding;
    std::vector<const For*> inner;
    for (const For* f : loops_around(loop->body, reader)) inner.push_back(f);
    for (Stmt part : {reader->init, reader->body}) {
      if (part == nullptr) continue;
      std::string why;
      visit(part, [&](Stmt s) {
        for (Expr e : expressions(s)) {
          for_each_load(e, [&](const ExprNode* n) {
            if (n->buffer != buffer) return;
            for (size_t d = 0; d < box.size(); ++d) {
              std::optional<Range> range = range_of(substitute(n->args[d], bindings), inner);
              bool loaded = false;
              for_each_load(n->args[d], [&](const ExprNode*) { loaded = true; });
              if (range && box[d]) range = join(*box[d], *range);
              if (!range || loaded) {
                why = cat("what block `", reader->name.text(), "` reads in dim ", d, " is not a range");
                return;
              }
              box[d] = range;
            }
          });
        }
      });
      if (!why.empty()) return Outcome::refused(why);
    }
  }
  if (std::any_of(box.begin(), box.end(), [](const auto& r) { return !r; }))
    return Outcome::refused(cat("nothing in the loop reads `", buffer->name.text(), "`"));
  // What the block reads itself must be there before the loop.
  const std::vector<const Block*> all = blocks(k.body);
  for (const Region& r : block->reads) {
    for (const Block* w : writers(k.body, r.buffer)) {
      if (std::find(all.begin(), all.end(), w) > std::find(all.begin(), all.end(), block))
        return Outcome::refused(cat("block `", name, "` reads what is written later"));
    }
  }

  // Only the points that exist are computed: a reader may look beyond the edge behind a condition.
  Bounds bounds;
  for (Stmt s : path_to(k.body, inside[0])) {
    if (const auto* f = s->as<For>()) bounds.bind(f->var, f->extent);
  }
  std::vector<BlockIter> iters(block->iters.begin(), block->iters.end());
  std::vector<Expr> vars;
  Expr predicate = pool.integer(1, kBool);
  for (size_t d = 0; d < iters.size(); ++d) {
    vars.push_back(pool.variable(cat("a", d)));
    iters[d].binding = box[d]->min + vars[d];
    bounds.bind(vars[d], box[d]->extent);
    predicate = logical_and(predicate, simplify(less_equal(pool.integer(0), iters[d].binding), bounds));
    predicate = logical_and(predicate, simplify(less(iters[d].binding, iters[d].extent), bounds));
  }
  Stmt nest = make_block(pool, name, iters, predicate, nullptr, block->body);
  for (size_t d = vars.size(); d-- > 0;)
    nest = make_for(arena, vars[d], box[d]->extent, ForKind::kSerial, nest);

  Stmt moved = make_for(arena, loop->var, loop->extent, loop->how, make_sequence(arena, {nest, loop->body}));
  Stmt body = remove_block(arena, replace(arena, k.body, loop, moved), block);
  return with_body(k, simplify(pool, body));
}

}  // namespace relay::kernel::schedule
