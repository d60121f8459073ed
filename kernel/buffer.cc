#include "kernel/buffer.h"

namespace relay::kernel {

Expr stride_of(const Buffer& b, size_t dim) {
  if (!b.strides.empty()) return b.strides[dim];
  Expr stride = b.shape[dim]->pool->integer(1);
  for (size_t d = dim + 1; d < b.shape.size(); ++d) stride = stride * b.shape[d];
  return stride;
}

Expr memory_extent(ExprPool& pool, const Buffer& b) {
  return b.shape.empty() ? pool.integer(1) : b.shape[0] * stride_of(b, 0);
}

}  // namespace relay::kernel
