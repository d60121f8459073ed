#include "kernel/buffer.h"

namespace relay::kernel {

Expr stride_of(const Buffer& b, size_t dim) {
  if (!b.strides.empty()) return b.strides[dim];
  Expr stride = b.shape[dim]->pool->integer(1);
  for (size_t d = dim + 1; d < b.shape.size(); ++d) stride = stride * b.shape[d];
  return stride;
}

std::vector<Expr> memory_shape(const Buffer& b) {
  if (b.strides.empty()) return {b.shape.begin(), b.shape.end()};
  return {b.shape[0], b.strides[0]};
}

std::optional<int64_t> memory_extent(const Buffer& b) {
  int64_t out = 1;
  bool nothing = false;  // an empty dim makes it so, however large the others are
  for (Expr e : memory_shape(b)) {
    if (e->kind != ExprKind::kInt) return std::nullopt;
    nothing |= e->int_value <= 0;
    if (!nothing && __builtin_mul_overflow(out, e->int_value, &out)) return std::nullopt;
  }
  return nothing ? 0 : out;
}

}  // namespace relay::kernel
