#include "op/reduce/reduction.h"

#include "base/cat.h"

namespace relay::op {

std::vector<bool> reduced_axes(const ReduceAttrs& a, size_t rank) {
  if (!a.axis) return std::vector<bool>(rank, !a.exclude);
  std::vector<bool> named(rank, false);
  for (const int64_t axis : *a.axis) {
    const auto r = static_cast<int64_t>(rank);
    if (axis < -r || axis >= r)
      throw RelationError{kAttributes, cat("axis ", axis, " is out of range for rank ", rank)};
    const auto place = static_cast<size_t>(axis < 0 ? axis + r : axis);
    if (named[place]) throw RelationError{kAttributes, cat("axis ", axis, " is named twice")};
    named[place] = true;
  }
  if (a.exclude) named.flip();
  return named;
}

Type reduced_type(Relation& r, const ReduceAttrs& a, DType dtype) {
  const TensorType& x = r.tensor(0);
  const std::span<const Dim> dims = x.dims;
  return r.tensor_of(reduced_shape(dims, reduced_axes(a, x.rank()), a.keepdims), dtype);
}

Groups groups(const Shape& shape, const std::vector<bool>& reduced) {
  Groups out{{0}, {0}};
  int64_t stride = element_count(shape).value_or(0);
  for (size_t d = 0; d < shape.size(); ++d) {
    stride = shape[d] == 0 ? 0 : stride / shape[d];
    std::vector<int64_t>& part = reduced[d] ? out.step : out.start;
    std::vector<int64_t> next;
    for (const int64_t before : part) {
      for (int64_t i = 0; i < shape[d]; ++i) next.push_back(before + i * stride);
    }
    part = std::move(next);
  }
  return out;
}

std::vector<kernel::Expr> reduced_extents(const kernel::Tensor& x, const std::vector<bool>& reduced) {
  std::vector<kernel::Expr> out;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (reduced[d]) out.push_back(x.dim(d));
  }
  return out;
}

kernel::Expr reduced_at(const kernel::Tensor& x, const std::vector<bool>& reduced, bool keepdims,
                        kernel::Indices i, kernel::Indices r) {
  std::vector<kernel::Expr> at;
  size_t outer = 0, inner = 0;
  for (size_t d = 0; d < x.rank(); ++d) {
    at.push_back(reduced[d] ? r[inner++] : i[outer]);
    if (!reduced[d] || keepdims) ++outer;
  }
  return x.at(at);
}

Term spread(Builder& b, const ReduceAttrs& a, Expr y, Expr x) {
  const std::vector<bool> reduced = reduced_axes(a, x->type->as<TensorType>()->rank());
  for (size_t d = 0; d < reduced.size() && !a.keepdims; ++d) {
    if (reduced[d]) y = call(b, kExpandDims, {y}, {{"axis", static_cast<int64_t>(d)}});
  }
  return {b, call(b, kBroadcastToLike, {y, x})};
}

std::vector<AttrArg> arguments(const ReduceAttrs& a) {
  std::vector<AttrArg> out{{"keepdims", a.keepdims}, {"exclude", a.exclude}};
  if (a.axis) out.push_back({"axis", *a.axis});
  return out;
}

Expr ones_like(Builder& b, Expr x) {
  return call(b, kBroadcastToLike, {b.scalar(x->type->as<TensorType>()->dtype, 1), x});
}

Term count(Builder& b, const ReduceAttrs& a, Expr x) {
  const auto& type = *x->type->as<TensorType>();
  const std::vector<bool> reduced = reduced_axes(a, type.rank());
  double product = 1;
  bool known = true;
  for (size_t d = 0; d < type.rank(); ++d) {
    if (!reduced[d]) continue;
    known = known && type.dims[d].is_const();
    if (known) product *= static_cast<double>(type.dims[d].value());
  }
  if (known) return {b, b.scalar(type.dtype, product)};
  ReduceAttrs kept = a;
  kept.keepdims = true;
  return {b, call(b, kSum, {ones_like(b, x)}, arguments(kept))};
}

int64_t reduced_length(const ReduceAttrs& a, const TensorType& x) {
  const std::vector<bool> reduced = reduced_axes(a, x.rank());
  int64_t length = 1;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (reduced[d] && x.dims[d].is_const()) length *= x.dims[d].value();
  }
  return length;
}

}  // namespace relay::op
