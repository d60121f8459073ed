// sparse_reshape(j, s, t).0[e] = the index in shape t of the element that has the index j[e]
// in shape s sparse_reshape(j, s, t).1 = t, where a -1 is the extent that gives as many
// elements as s has
//
//   (Tensor[(n, m), d], Tensor[(m), e], Tensor[(k), f]) -> (Tensor[(n, k), d], Tensor[(k), f])
//   C1: all are integers.   C2: j has rank 2, s and t have rank 1.   C3: s has m elements.
//   C4: m and k are known, and at most 32.
//
// Elements are counted row by row. A program traps if s and t have not as many elements, if t has
// an extent below -1 or two of -1, or if an index is not in s. Products of extents wrap.
#include <algorithm>
#include <numeric>

#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr auto kBadShape = "the new shape has an extent below -1, or two of -1";
constexpr auto kDifferentSizes = "the shapes have different numbers of elements";
constexpr int64_t kMostAxes = 32;

Type relate(Relation& r, const NoAttrs&) {
  for (const int arg : {0, 1, 2}) require(r, arg, Domain::kInteger);  // C1
  r.require_rank(0, 2);                                               // C2
  r.require_rank(1, 1);                                               // C2
  r.require_rank(2, 1);                                               // C2
  const TensorType &j = r.tensor(0), &s = r.tensor(1), &t = r.tensor(2);
  r.same(s.dims[0], j.dims[1], 1, "number of axes", 0);  // C3
  for (const int arg : {1, 2}) {
    const Dim axes = r.tensor(arg).dims[0];
    r.require(axes.is_const() && axes.value() <= kMostAxes, arg,
              "expected a shape of which it is known how many axes it has, 32 at most");  // C4
  }
  return r.tuple_of({r.tensor_of({j.dims[0], t.dims[0]}, j.dtype), &t});
}

int64_t wrapped(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

int64_t elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, wrapped);
}

// The new shape, without -1.
std::vector<int64_t> settled(std::vector<int64_t> shape, int64_t total) {
  int64_t others = 1, unknown = 0;
  for (const int64_t d : shape) {
    unknown += d == -1;
    if (d < -1) throw Trap(kBadShape);
    if (d != -1) others = wrapped(others, d);
  }
  if (unknown > 1) throw Trap(kBadShape);
  const bool fits = unknown == 0 ? total == others : others > 0 && total >= 0 && total % others == 0;
  if (!fits) throw Trap(kDifferentSizes);
  for (int64_t& d : shape) d = d == -1 ? total / others : d;
  return shape;
}

void evaluate(const NoAttrs&, Args in, Results out) {
  const std::vector<int64_t> from = in[1].ints();
  const std::vector<int64_t> to = settled(in[2].ints(), elements(from));
  for (size_t d = 0; d < to.size(); ++d) out[1].set_int(static_cast<int64_t>(d), to[d]);
  const auto m = static_cast<int64_t>(from.size()), k = static_cast<int64_t>(to.size());
  for (int64_t e = 0; e < in[0].shape()[0]; ++e) {
    int64_t place = 0;
    for (int64_t d = 0; d < m; ++d) {
      const int64_t i = index_of(in[0], e * m + d), extent = from[static_cast<size_t>(d)];
      if (i < 0 || i >= extent) throw Trap(kIndexOutOfRange);
      place = static_cast<int64_t>(static_cast<uint64_t>(wrapped(place, extent)) + static_cast<uint64_t>(i));
    }
    for (int64_t d = k; d-- > 0;) {
      const int64_t extent = std::max<int64_t>(to[static_cast<size_t>(d)], 1);
      const int64_t rest = place % extent < 0 ? place % extent + extent : place % extent;
      out[0].set_int(e * k + d, rest);
      place = (place - rest) / extent;
    }
  }
}

// The elements of a vector whose length is known.
std::vector<kernel::Expr> elements_of(kernel::Builder& k, const kernel::Tensor& t, const TensorType& type) {
  std::vector<kernel::Expr> out;
  for (int64_t d = 0; d < type.dims[0].value(); ++d) out.push_back(cast(kInt64, t(k.index(d))));
  return out;
}

// The new shape, without -1, as a tensor. Its requirements come before everything else. A
// requirement is asked for each element, so the shape without axes has one element that nobody
// reads.
kernel::Tensor lower_shape(kernel::Builder& k, const std::vector<kernel::Expr>& from, const Lowering& c) {
  const kernel::Expr zero = k.index(0), one = k.index(1), none = k.index(-1);
  const std::vector<kernel::Expr> to = elements_of(k, c.in[2], *c.arg_types[2]);
  kernel::Expr total = one, others = one, unknown = zero, valid = k.constant(kBool, 1);
  for (const kernel::Expr d : from) total = total * d;
  for (const kernel::Expr d : to) {
    const kernel::Expr open = equal(d, none);
    unknown = unknown + select(open, one, zero);
    valid = logical_and(valid, less_equal(none, d));
    others = others * select(open, one, d);
  }
  const kernel::Expr divisor = max(others, one);
  const kernel::Expr divides = logical_and(logical_and(less(zero, others), less_equal(zero, total)),
                                           equal(floor_mod(total, divisor), zero));
  const kernel::Expr fits = select(equal(unknown, zero), equal(total, others), divides);
  const auto asked = static_cast<int64_t>(std::max<size_t>(to.size(), 1));
  return k.compute("shape", kInt64, {k.index(asked)}, [&](kernel::Indices i) {
    k.require(logical_and(valid, less_equal(unknown, one)), kBadShape);
    k.require(fits, kDifferentSizes);
    if (to.empty()) return one;
    const kernel::Expr d = cast(kInt64, c.in[2].at(i));
    return select(equal(d, none), floor_div(total, divisor), d);
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  const std::vector<kernel::Expr> from = elements_of(k, c.in[1], *c.arg_types[1]);
  const kernel::Tensor shape = lower_shape(k, from, c);
  const int64_t axes = c.arg_types[2]->dims[0].value();
  const kernel::Tensor place = k.compute("place", kInt64, {c.in[0].dim(0)}, [&](kernel::Indices e) {
    kernel::Expr sum = k.index(0);
    for (size_t d = 0; d < from.size(); ++d) {
      const std::vector<kernel::Expr> at{e[0], k.index(static_cast<int64_t>(d))};
      const kernel::Expr i = index_at(c.in[0], at);
      k.require(logical_and(less_equal(k.index(0), i), less(i, from[d])), kIndexOutOfRange);
      sum = sum * from[d] + i;
    }
    return sum;
  });
  const kernel::Tensor indices = k.compute("indices", c.dtype(0), c.shape(0), [&](kernel::Indices i) {
    // place / (the extents behind d) % (the extent d), with d the axis. Without axes it is read all
    // the same, for what it requires.
    kernel::Expr rest = place(i[0]), chosen = rest;
    for (int64_t d = axes; d-- > 0;) {
      const kernel::Expr extent = max(shape(k.index(d)), k.index(1));
      chosen = select(equal(i[1], k.index(d)), floor_mod(rest, extent), chosen);
      rest = floor_div(rest, extent);
    }
    return cast(c.dtype(0), chosen);
  });
  return {indices, k.compute("new_shape", c.dtype(1), c.shape(1),
                             [&](kernel::Indices i) { return cast(c.dtype(1), shape.at(i)); })};
}

}  // namespace

const OpDef kSparseReshape = define<NoAttrs>({
    .name = "sparse_reshape",
    .doc = "The places of a sparse tensor's elements in another shape with as many elements.",
    .params = {{"sparse_indices", "the index vector of each element"},
               {"prev_shape", "the shape of the sparse tensor"},
               {"new_shape", "the shape that it gets; one extent may be -1"}},
    .effects = Effects::kTraps,
    .not_differentiable = "defined on integers",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
