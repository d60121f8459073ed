#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/box.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

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
  std::optional<Box> box;
  for (const Block* reader : readers(k.body, buffer)) {
    if (std::find(inside.begin(), inside.end(), reader) == inside.end())
      return Outcome::refused(cat("block `", reader->name.text(), "` reads the tensor outside the loop"));
    const std::optional<Box> here = box_read(loop->body, reader, buffer, reason);
    if (!here) return Outcome::refused(reason);
    if (!box) box = here;
    for (size_t d = 0; d < here->size(); ++d) {
      const std::optional<Range> both = join((*box)[d], (*here)[d]);
      if (!both)
        return Outcome::refused(
            cat("what block `", reader->name.text(), "` and others read in dim ", d, " is not a range"));
      (*box)[d] = *both;
    }
  }
  if (!box) return Outcome::refused(cat("nothing in the loop reads `", buffer->name.text(), "`"));
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
    iters[d].binding = (*box)[d].min + vars[d];
    bounds.bind(vars[d], (*box)[d].extent);
    predicate = logical_and(predicate, simplify(less_equal(pool.integer(0), iters[d].binding), bounds));
    predicate = logical_and(predicate, simplify(less(iters[d].binding, iters[d].extent), bounds));
  }
  Stmt nest = make_block(pool, name, iters, predicate, nullptr, block->body);
  for (size_t d = vars.size(); d-- > 0;)
    nest = make_for(arena, vars[d], (*box)[d].extent, ForKind::kSerial, nest);

  Stmt moved = with(arena, *loop, &For::body, make_sequence(arena, {nest, loop->body}));
  Stmt body = remove_block(arena, replace(arena, k.body, loop, moved), block);
  return with_body(k, simplify(pool, body));
}

}  // namespace relay::kernel::schedule::primitives
