#include "base/cat.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// Every block of `s` runs only where the condition holds as well.
Stmt with_predicate(ExprPool& pool, Stmt s, Expr condition) {
  return rewrite_outermost_blocks(pool.arena(), s, [&](const Block& b) -> Stmt {
    Block copy = b;
    copy.predicate = b.predicate ? logical_and(b.predicate, condition) : condition;
    return pool.arena().make<Block>(copy);
  });
}

}  // namespace

Outcome split(const Kernel& k, const LoopName& name, int64_t factor) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (factor < 1) return Outcome::refused(cat("a loop cannot be split by ", factor));
  if (loop->how != ForKind::kSerial) return Outcome::refused("only serial loops are split");

  ExprPool& pool = *pool_of(k);
  const Expr outer = pool.variable(cat(loop->var->name.text(), "_outer"));
  const Expr inner = pool.variable(cat(loop->var->name.text(), "_inner"));
  const Expr value = outer * factor + inner;
  Stmt body = substitute(pool.arena(), loop->body, {{loop->var.get(), value}});
  if (!floor_mod(loop->extent, factor).is_int(0))
    body = with_predicate(pool, body, less(value, loop->extent));
  body = make_for(pool.arena(), inner, pool.integer(factor), ForKind::kSerial, body);
  body = make_for(pool.arena(), outer, divide_up(loop->extent, factor), ForKind::kSerial, body);
  return with_body(k, simplify(pool, replace(pool.arena(), k.body, loop, body)));
}

}  // namespace relay::kernel::schedule::primitives
