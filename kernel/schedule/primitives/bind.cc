#include <algorithm>

#include "base/cat.h"
#include "kernel/schedule/primitives/dependence.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

bool is_block_index(ForKind how) { return how >= ForKind::kBlockX && how <= ForKind::kBlockZ; }
bool is_thread_index(ForKind how) { return how >= ForKind::kThreadX; }

// Why a loop inside or outside cannot stand with one bound to `how`; empty if it can.
std::string clash(const For& other, ForKind how, bool inside) {
  if (other.how == how) return cat("loop `", show(other.var), "` is bound to the same index");
  if (inside ? is_thread_index(how) && is_block_index(other.how)
             : is_block_index(how) && is_thread_index(other.how))
    return "blocks of threads would start inside of a thread";
  if (!inside && (other.how == ForKind::kParallel || other.how == ForKind::kVectorized))
    return cat("loop `", show(other.var), "` around it runs in parallel already");
  return {};
}

}  // namespace

Outcome bind(const Kernel& k, const LoopName& name, ForKind index) {
  std::string reason;
  const For* loop = find_loop(k, name, reason);
  if (loop == nullptr) return Outcome::refused(reason);
  if (!is_block_index(index) && !is_thread_index(index))
    return Outcome::refused("a loop is bound to a block's or a thread's index");
  if (loop->how != ForKind::kSerial)
    return Outcome::refused(cat("loop `", show(loop->var), "` is not serial"));
  for (Expr v : variables(loop->extent)) {
    if (!v->shape_variable)
      return Outcome::refused(cat("the extent ", show(loop->extent), " depends on the loops around"));
  }
  for (const For* f : loops_around(k.body, find_block(k.body, name.block))) {
    if (f == loop) break;
    if (std::string why = clash(*f, index, false); !why.empty()) return Outcome::refused(why);
  }
  std::string why;
  visit(loop->body, [&](Stmt s) {
    if (const auto* f = s->as<For>(); f && why.empty()) why = clash(*f, index, true);
  });
  if (why.empty()) why = dependence(*loop);
  if (!why.empty()) return Outcome::refused(why);
  Arena& arena = pool_of(k)->arena();
  return with_body(k,
                   replace(arena, k.body, loop, make_for(arena, loop->var, loop->extent, index, loop->body)));
}

}  // namespace relay::kernel::schedule::primitives
