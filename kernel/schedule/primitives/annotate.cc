// parallel, vectorize and unroll: how a loop runs.
#include "base/cat.h"
#include "kernel/fields.h"
#include "kernel/schedule/primitives/dependence.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

Outcome annotate(const Kernel& k, const For& loop, ForKind how) {
  ExprPool& pool = *pool_of(k);
  return with_body(k, replace(pool.arena(), k.body, &loop, with(pool.arena(), loop, &For::how, how)));
}

}  // namespace

Outcome parallel(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (std::string why = dependence(*loop); !why.empty()) return Outcome::refused(why);
  for (const For* f : loops_around(k.body, find_block(k.body, name.block))) {
    if (f->how == ForKind::kParallel)
      return Outcome::refused(cat("loop `", show(f->var), "` is parallel already"));
  }
  return annotate(k, *loop, ForKind::kParallel);
}

Outcome vectorize(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (loop->extent->kind != ExprKind::kInt)
    return Outcome::refused(cat("the extent ", show(loop->extent), " is not constant"));
  if (std::string why = dependence(*loop); !why.empty()) return Outcome::refused(why);
  bool nested = false;
  visit(loop->body, [&](Stmt s) { nested |= s->as<For>() != nullptr; });
  if (nested) return Outcome::refused("the loop contains loops");
  return annotate(k, *loop, ForKind::kVectorized);
}

Outcome unroll(const Kernel& k, const LoopName& name) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (loop->extent->kind != ExprKind::kInt)
    return Outcome::refused(cat("the extent ", show(loop->extent), " is not constant"));
  return annotate(k, *loop, ForKind::kUnrolled);
}

}  // namespace relay::kernel::schedule::primitives
