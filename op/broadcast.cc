#include "op/broadcast.h"

#include "op/apply.h"
#include "op/ops.h"

namespace relay::op {

std::vector<int64_t> broadcast_elements(const Shape& from, const Shape& to) {
  if (element_count(to) == 0) return {};
  // step[d]: how far one goes in `from` for one step along dimension d of `to`.
  std::vector<int64_t> step(to.size(), 0);
  int64_t stride = 1;
  for (size_t d = from.size(); d-- > 0;) {
    if (from[d] != 1) step[d + to.size() - from.size()] = stride;
    stride *= from[d];
  }
  std::vector<int64_t> out;
  const int64_t count = element_count(to).value_or(0);
  before_taking(static_cast<size_t>(count) * sizeof(int64_t));
  out.reserve(static_cast<size_t>(count));
  Shape at(to.size(), 0);
  int64_t element = 0;
  for (int64_t n = count; n > 0; --n) {
    out.push_back(element);
    for (size_t d = to.size(); d-- > 0;) {
      element += step[d];
      if (++at[d] < to[d]) break;
      element -= step[d] * to[d];
      at[d] = 0;
    }
  }
  return out;
}

kernel::Expr broadcast_at(const kernel::Tensor& x, kernel::Indices i, std::span<const kernel::Expr> shape) {
  std::vector<kernel::Expr> at;
  const size_t skipped = shape.size() - x.rank();
  for (size_t d = 0; d < x.rank(); ++d) {
    const kernel::Expr extent = x.dim(d), here = i[d + skipped], zero = extent->pool->integer(0);
    if (extent.is_int(1)) {
      at.push_back(zero);
    } else if (extent == shape[d + skipped] || extent->kind == kernel::ExprKind::kInt) {
      at.push_back(here);
    } else {
      at.push_back(select(equal(extent, extent->pool->integer(1)), zero, here));
    }
  }
  return x.at(at);
}

Expr collapse_to(Builder& b, Expr dy, Expr like) {
  const auto& from = *dy->type->as<TensorType>();
  const auto& to = *like->type->as<TensorType>();
  return from.dims == to.dims ? dy : call(b, kCollapseSumLike, {dy, like});
}

}  // namespace relay::op
