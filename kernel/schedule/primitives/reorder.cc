#include <algorithm>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

bool reduces_over(const Block& b, Expr loop) {
  return std::any_of(b.iters.begin(), b.iters.end(), [&](const BlockIter& i) {
    return i.kind == IterKind::kReduction && mentions(i.binding, loop);
  });
}

}  // namespace

Outcome reorder(const Kernel& k, std::string_view name, const std::vector<size_t>& order) {
  const Block* block = find_block(k.body, name);
  if (block == nullptr) return Outcome::refused(cat("there is no block `", name, "`"));
  const std::vector<const For*> loops = loops_around(k.body, block);
  std::vector<size_t> depths = order;
  std::sort(depths.begin(), depths.end());
  for (size_t i = 0; i < depths.size(); ++i) {
    if (depths[i] >= loops.size())
      return Outcome::refused(cat("block `", name, "` stands in ", loops.size(), " loops"));
    if (i > 0 && depths[i] == depths[i - 1])
      return Outcome::refused(cat("loop ", depths[i], " is named twice"));
  }
  if (depths.empty()) return k;
  for (size_t d = depths.front(); d < depths.back(); ++d) {
    if (loops[d]->body != loops[d + 1])
      return Outcome::refused(cat("loop `", show(loops[d]->var), "` contains more than one loop"));
  }

  // The new order of all loops from the first named to the last.
  std::vector<const For*> chain(loops.begin() + static_cast<std::ptrdiff_t>(depths.front()),
                                loops.begin() + static_cast<std::ptrdiff_t>(depths.back()) + 1);
  for (size_t i = 0; i < order.size(); ++i) chain[depths[i] - depths.front()] = loops[order[i]];
  for (size_t i = 0; i < chain.size(); ++i) {
    for (size_t j = i + 1; j < chain.size(); ++j) {
      if (mentions(chain[i]->extent, chain[j]->var)) {
        return Outcome::refused(
            cat("the extent of `", show(chain[i]->var), "` depends on `", show(chain[j]->var), "`"));
      }
    }
  }
  // Iterations that only differ in spatial iterators may come in any order; the steps of a
  // reduction if it commutes.
  const std::vector<const Block*> inside = outermost_blocks(loops[depths.back()]->body);
  for (const Block* b : inside) {
    std::vector<const For*> before, after;
    for (size_t d = depths.front(); d <= depths.back(); ++d) {
      if (reduces_over(*b, loops[d]->var)) before.push_back(loops[d]);
    }
    for (const For* f : chain) {
      if (reduces_over(*b, f->var)) after.push_back(f);
    }
    if (before.empty()) continue;
    if (inside.size() > 1)
      return Outcome::refused("the loops contain several blocks, and one reduces over them");
    if (before != after && !is_commutative_reduction(*b)) {
      return Outcome::refused(cat("block `", b->name.text(), "` depends on the order of its steps"));
    }
  }

  ExprPool& pool = *pool_of(k);
  Stmt body = loops[depths.back()]->body;
  for (size_t i = chain.size(); i-- > 0;) body = with(pool.arena(), *chain[i], &For::body, body);
  return with_body(k, replace(pool.arena(), k.body, loops[depths.front()], body));
}

}  // namespace relay::kernel::schedule::primitives
