#include "base/cat.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

Outcome fuse(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* outer = find_loop(k, name, reason);
  if (outer == nullptr) return Outcome::refused(reason);
  const auto* inner = outer->body->as<For>();
  if (inner == nullptr)
    return Outcome::refused(cat("loop `", show(outer->var), "` contains more than one loop"));
  if (outer->how != ForKind::kSerial || inner->how != ForKind::kSerial)
    return Outcome::refused("only serial loops are fused");
  if (mentions(inner->extent, outer->var)) {
    return Outcome::refused(
        cat("the extent of `", show(inner->var), "` depends on `", show(outer->var), "`"));
  }

  ExprPool& pool = *pool_of(k);
  const Expr fused = pool.variable(cat(outer->var->name.text(), "_", inner->var->name.text()));
  Stmt body = substitute(pool.arena(), inner->body,
                         {{outer->var.get(), floor_div(fused, inner->extent)},
                          {inner->var.get(), floor_mod(fused, inner->extent)}});
  body = make_for(pool.arena(), fused, outer->extent * inner->extent, ForKind::kSerial, body);
  return with_body(k, simplify(pool, replace(pool.arena(), k.body, outer, body)));
}

}  // namespace relay::kernel::schedule::primitives
