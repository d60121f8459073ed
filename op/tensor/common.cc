#include "op/tensor/common.h"

#include <algorithm>
#include <cstring>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/simplify.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"

namespace relay::op {

std::vector<Dim> dims_of(const TensorType& t) { return {t.dims.begin(), t.dims.end()}; }

bool any_unknown(std::span<const Dim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.is_unknown(); });
}

Dim clamp_to_zero(Dim d) {
  if (d.is_symbolic()) {
    const kernel::Interval range = kernel::Bounds().of(d.symbolic());
    if (range.low && *range.low >= 0) return d;
  }
  return max(d, Dim(0));
}

std::vector<size_t> distinct_axes(Relation& r, std::span<const int64_t> axes, size_t rank) {
  std::vector<size_t> out;
  for (int64_t a : axes) {
    const size_t axis = r.axis(a, rank);
    if (std::find(out.begin(), out.end(), axis) != out.end())
      r.fail(kAttributes, cat("axis ", axis, " is given twice"));
    out.push_back(axis);
  }
  return out;
}

int64_t offset_of(const Shape& shape, std::span<const int64_t> index) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

void copy_element(const Tensor& from, int64_t i, Tensor& to, int64_t j) {
  const size_t bytes = from.dtype().bytes();
  std::memcpy(static_cast<std::byte*>(to.data()) + static_cast<size_t>(j) * bytes,
              static_cast<const std::byte*>(from.data()) + static_cast<size_t>(i) * bytes, bytes);
}

int64_t index_of(const Tensor& indices, int64_t i) {
  const int64_t index = indices.get_int(i);
  return indices.dtype() == kUInt64 && index < 0 ? INT64_MAX : index;
}

int64_t extent_of(Dim d, std::string_view what) {
  if (!d.is_const()) throw Trap(cat(what, " is not known: ", relay::show(d)));
  return d.value();
}

std::vector<kernel::Expr> copy_of(kernel::Indices i) { return {i.begin(), i.end()}; }

kernel::Expr index_at(const kernel::Tensor& t, kernel::Indices indices) {
  kernel::Expr index = t.at(indices);
  if (index->dtype == kUInt64) index = kernel::min(index, index->pool->integer(INT64_MAX, kUInt64));
  return kernel::cast(kInt64, index);
}

std::vector<kernel::Expr> reindex(kernel::ExprPool& pool, std::span<const Dim> from, std::span<const Dim> to,
                                  kernel::Indices i) {
  std::vector<kernel::Expr> out;
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    // The smallest groups [f, p) and [t, q) that hold equally many elements; all that is left if
    // none can be proved.
    size_t p = from.size(), q = to.size();
    for (size_t sum = 1; sum < from.size() - f + to.size() - t; ++sum) {
      bool found = false;
      for (size_t taken = 0; taken <= sum && !found; ++taken) {
        const size_t left = sum - taken;
        if (f + taken > from.size() || t + left > to.size()) continue;
        if (prove_equal(product(from.subspan(f, taken)), product(to.subspan(t, left))) !=
            kernel::Proof::kProved)
          continue;
        p = f + taken;
        q = t + left;
        found = true;
      }
      if (found) break;
    }
    kernel::Expr flat = pool.integer(0);
    for (size_t d = t; d < q; ++d) flat = flat * to[d].expr(pool) + i[d];
    std::vector<kernel::Expr> group;  // innermost first
    for (size_t d = p; d-- > f;) {
      const kernel::Expr extent = from[d].expr(pool);
      if (d == f) {
        group.push_back(flat);  // the outermost one needs no remainder
      } else {
        group.push_back(kernel::floor_mod(flat, extent));
        flat = kernel::floor_div(flat, extent);
      }
    }
    out.insert(out.end(), group.rbegin(), group.rend());
    f = p;
    t = q;
  }
  return out;
}

Expr scalar_of(Builder& b, DType dtype, double value) { return b.scalar(dtype, value); }

Expr in_shape_of(Builder& b, Expr x, Expr like) {
  const TensorType& t = tensor_type_of(like);
  if (x->type && tensor_type_of(x).dims == t.dims && !any_unknown(t.dims)) return x;
  if (any_unknown(t.dims)) return call(b, kReshapeLike, {x, like});
  return call(b, kReshape, {x}, {{"newshape", dims_of(t)}, {"allowzero", true}});
}

Expr sure_to_broadcast(Builder& b, Expr x, Expr like) {
  const List<Dim> part = tensor_type_of(x).dims, whole = tensor_type_of(like).dims;
  for (size_t d = 0; d < part.size(); ++d) {
    const Dim p = part[d];
    if (p != Dim(1) && prove_equal(p, whole[d + whole.size() - part.size()]) != kernel::Proof::kProved)
      return call(b, kBroadcastToLike, {x, like});
  }
  return x;
}

Expr transposed(Builder& b, Expr x, const std::vector<int64_t>& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  return call(b, kTranspose, {x}, {{"axes", axes}});
}

Expr sliced(Builder& b, Expr x, int64_t axis, Dim begin, Dim end) {
  return call(b, kStridedSlice, {x},
              {{"begin", std::vector<Dim>{begin}},
               {"end", std::vector<Dim>{end}},
               {"axes", std::vector<int64_t>{axis}}});
}

Expr zero_padded(Builder& b, Expr x, const std::vector<std::pair<Dim, Dim>>& axes) {
  const bool nothing = std::all_of(axes.begin(), axes.end(),
                                   [](const auto& p) { return p.first == Dim(0) && p.second == Dim(0); });
  if (nothing) return x;
  return call(b, kPad, {x, scalar_of(b, tensor_type_of(x).dtype, 0)},
              {{"pad_width", pad_width(b.context(), axes)}});
}

}  // namespace relay::op
