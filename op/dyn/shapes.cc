#include "op/dyn/shapes.h"

#include <algorithm>
#include <new>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"

namespace relay::op {

size_t known_length(Relation& r, int arg, std::string_view what) {
  r.require_rank(arg, 1);
  const TensorType& t = r.tensor(arg);
  r.require(t.dtype.is_int(), arg, cat("expected ", what, ", integers, found ", t.dtype.name()));
  r.require(t.dims[0].is_const(), arg,
            cat("expected ", what, ", whose number is known, found ", relay::show(t.dims[0])));
  constexpr int64_t kMost = 64;  // a rank that no program needs, and that a hostile one cannot exceed
  r.require(t.dims[0].value() <= kMost, arg, cat("expected at most ", kMost, " of ", what));
  return static_cast<size_t>(t.dims[0].value());
}

void require_empty(Relation& r, const std::optional<std::vector<Dim>>& given, std::string_view attribute) {
  r.require(!given || given->empty(), kAttributes,
            cat(attribute, " must be empty: an argument stands for it"));
}

Type sized_by_data(Relation& r, size_t rank, DType dtype) {
  return r.tensor_of(std::vector<Dim>(rank, Dim::unknown()), dtype);
}

std::vector<int64_t> elements_of(const Tensor& t) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(index_of(t, i));
  return out;
}

Tensor sized(DType dtype, const Shape& shape) {
  try {
    return Tensor(dtype, shape);
  } catch (const std::bad_alloc&) {
    throw Exhausted(kShapeTooLarge);
  }
}

int64_t saturated_product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

void evaluate_as(const OpDef& op, const std::vector<AttrArg>& attrs, Args in, Results out, Sums sums) {
  if (out[0].size() == 0) return;
  Context scratch;
  op.evaluate(scratch.attrs(attrs), in, out, sums);
}

kernel::Expr element_of(kernel::Builder& k, const kernel::Tensor& t, size_t i) {
  const std::vector<kernel::Expr> at{k.index(static_cast<int64_t>(i))};
  return index_at(t, at);
}

std::vector<kernel::Expr> elements_of(kernel::Builder& k, const kernel::Tensor& t, size_t count) {
  std::vector<kernel::Expr> out;
  for (size_t i = 0; i < count; ++i) out.push_back(element_of(k, t, i));
  return out;
}

kernel::Expr saturated_product(kernel::Expr a, kernel::Expr b) {
  kernel::ExprPool& pool = *a->pool;
  const kernel::Expr most = pool.integer(INT64_MAX), zero = pool.integer(0);
  const kernel::Expr room = floor_div(most, max(b, pool.integer(1)));
  return select(equal(b, zero), zero, select(less(room, a), most, a * b));
}

kernel::Tensor extents_vector(kernel::Builder& k, size_t count,
                              const std::function<std::vector<kernel::Expr>()>& extents) {
  return k.compute("extents", kInt64, {k.index(static_cast<int64_t>(count))}, [&](kernel::Indices i) {
    const std::vector<kernel::Expr> all = extents();
    kernel::Expr value = k.index(0);
    for (size_t d = all.size(); d-- > 0;)
      value = select(equal(i[0], k.index(static_cast<int64_t>(d))), all[d], value);
    return value;
  });
}

std::vector<kernel::Tensor> lower_as(const OpDef& op, const std::vector<AttrArg>& attrs, kernel::Builder& k,
                                     const Lowering& c, size_t args) {
  Context scratch;
  return op.lower(k, scratch.attrs(attrs),
                  Lowering{c.in.first(args), c.arg_types.first(args), c.out_types, c.pool});
}

}  // namespace relay::op
