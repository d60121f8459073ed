#include <algorithm>

#include "base/cat.h"
#include "kernel/layout.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {

Outcome transform_layout(const Kernel& k, std::string_view name, const std::vector<LayoutDim>& layout) {
  const Buffer* buffer = find_buffer(k, name);
  if (buffer == nullptr) return Outcome::refused(cat("there is no buffer `", name, "`"));
  if (buffer->scope == Scope::kGlobal && !is_temporary(k, buffer))
    return Outcome::refused(cat("callers know how `", name, "` lies in memory"));
  if (!buffer->strides.empty()) return Outcome::refused(cat("`", name, "` has strides: align it afterwards"));
  const size_t rank = buffer->shape.size();
  // Each dim stands there whole, or once as quotient and once as remainder of one factor.
  for (size_t d = 0; d < rank; ++d) {
    int64_t whole = 0, quotient = 0, remainder = 0;
    size_t times = 0;
    for (const LayoutDim& l : layout) {
      if (l.dim >= rank)
        return Outcome::refused(cat("`", name, "` has no dim ", l.dim, ": it has rank ", rank));
      if (l.dim != d) continue;
      ++times;
      if (l.part != LayoutDim::kWhole && l.factor < 1)
        return Outcome::refused(cat("dim ", d, " cannot be divided by ", l.factor));
      (l.part == LayoutDim::kWhole      ? whole
       : l.part == LayoutDim::kQuotient ? quotient
                                        : remainder) = l.part == LayoutDim::kWhole ? 1 : l.factor;
    }
    const bool divided = times == 2 && quotient > 0 && quotient == remainder;
    if (!divided && !(times == 1 && whole == 1))
      return Outcome::refused(cat("dim ", d, " of `", name, "` must stand there once as ", d, ", or once as ",
                                  d, "/F and once as ", d, "%F"));
  }

  std::vector<Layout::Part> parts;
  for (const LayoutDim& l : layout)
    parts.push_back({.axis = l.dim, .size = l.part == LayoutDim::kRemainder ? l.factor : 0});
  const Layout to(rank, parts);
  ExprPool& pool = *pool_of(k);
  Buffer copy = *buffer;
  copy.shape = pool.arena().list(to.shape(std::vector<Expr>(buffer->shape.begin(), buffer->shape.end())));
  const Kernel moved = with_buffer(k, buffer, pool.arena().make<Buffer>(copy),
                                   [&](const std::vector<Expr>& at) { return to.index(at); });
  return with_body(moved, simplify(pool, moved.body));
}

}  // namespace relay::kernel::schedule::primitives
