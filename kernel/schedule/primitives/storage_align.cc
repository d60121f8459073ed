#include "base/cat.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

Outcome storage_align(const Kernel& k, std::string_view name, size_t dim, int64_t factor, int64_t offset) {
  const Buffer* buffer = find_buffer(k, name);
  if (buffer == nullptr) return Outcome::refused(cat("there is no buffer `", name, "`"));
  if (buffer->scope == Scope::kGlobal && !is_temporary(k, buffer))
    return Outcome::refused(cat("callers know how `", name, "` lies in memory"));
  if (dim + 1 >= buffer->shape.size())
    return Outcome::refused(
        cat("dim ", dim, " of `", name, "` has no dim inside of it: it has rank ", buffer->shape.size()));
  if (factor < 1 || factor > kMostAlignment)
    return Outcome::refused(
        cat("a stride cannot be a multiple of ", factor, " (at most ", kMostAlignment, ")"));
  if (offset < 0 || offset >= factor)
    return Outcome::refused(cat("the offset ", offset, " is not below the factor ", factor));

  ExprPool& pool = *pool_of(k);
  std::vector<Expr> strides(buffer->shape.size());
  for (size_t d = strides.size(); d-- > 0;) {
    const Expr tight = d + 1 == strides.size() ? pool.integer(1) : strides[d + 1] * buffer->shape[d + 1];
    strides[d] = tight;
    // What was aligned before stays so.
    if (!buffer->strides.empty() && d != dim && prove_equal(buffer->strides[d], tight) != Proof::kProved) {
      if (d > dim) strides[d] = buffer->strides[d];
      if (d < dim)
        return Outcome::refused(
            cat("dim ", d, " of `", name, "` is aligned already: align inner dims first"));
    }
    if (d != dim) continue;
    if (tight->kind != ExprKind::kInt)
      return Outcome::refused(
          cat("the extent of what is inside of dim ", d, " of `", name, "` is not constant"));
    const int64_t beyond = (tight->int_value - offset) % factor;
    strides[d] = pool.integer(tight->int_value + (beyond == 0 ? 0 : beyond > 0 ? factor - beyond : -beyond));
  }
  Buffer copy = *buffer;
  copy.strides = pool.arena().list(strides);
  return with_buffer(k, buffer, pool.arena().make<Buffer>(copy));
}

}  // namespace relay::kernel::schedule::primitives
