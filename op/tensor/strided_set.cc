// strided_set(x, v, begin, end, strides) = x, but x[b_0 + i_0 t_0, .., c..] is v[i_0, .., c..]
//
// for all i with b + i t before end (behind it where t is negative), as strided_slice takes them.
// begin and end count from the end of the axis if they are negative; what is beyond an axis is
// moved to its end. The last axes may be missing in begin, end and strides: they are set as a
// whole. If v has not the shape of what is set, or a stride is 0, it traps.
//
//   (Tensor[s, d], Tensor[t, d], Tensor[(m), e], Tensor[(m), e], Tensor[(m), e]) -> Tensor[s, d]
//   C1: v has the dtype and the rank of data.   C2: begin, end and strides are integers.
//   C3: they have one axis, of the same constant extent, at most the rank of data.
//   C4: axes that are set as a whole have the same extent in data and v.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr auto kStrideIsZero = "a stride is 0";
constexpr auto kWrongShape = "what is set has another shape than its new elements";

Type relate(Relation& r, const NoAttrs&) {
  const TensorType &x = r.tensor(0), &v = r.tensor(1);
  r.require_same_dtype(1, 0);   // C1
  r.require_rank(1, x.rank());  // C1
  for (int i = 2; i < 5; ++i) {
    require(r, i, Domain::kInteger);  // C2
    r.require_rank(i, 1);             // C3
    const Dim axes = r.tensor(i).dims[0];
    r.require(axes.is_const() && axes == r.tensor(2).dims[0], i,
              cat("expected a constant extent, the same as that of begin, found ", relay::show(axes)));  // C3
    r.require(axes.value() <= static_cast<int64_t>(x.rank()), i,
              cat("speaks of ", axes.value(), " axes, data has ", x.rank()));  // C3
  }
  for (auto d = static_cast<size_t>(r.tensor(2).dims[0].value()); d < x.rank(); ++d)
    r.same(v.dims[d], x.dims[d], 1, cat("dimension ", d), 0);  // C4
  return &x;
}

// What is set along one axis of so many elements.
struct Set {
  int64_t begin, stride, count;
};

Set set_along(int64_t begin, int64_t end, int64_t stride, int64_t extent) {
  if (stride == 0) throw Trap(kStrideIsZero);
  // Of a negative stride, the first element and the one before the first.
  const int64_t least = stride < 0 ? -1 : 0, most = stride < 0 ? extent - 1 : extent;
  const auto within = [&](int64_t v) { return std::clamp(v < 0 ? v + extent : v, least, most); };
  const int64_t from = within(begin), to = within(end);
  const auto way = static_cast<uint64_t>(stride < 0 ? from - to : to - from);
  const uint64_t step = stride < 0 ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
  const bool none = stride < 0 ? from <= to : to <= from;
  return {from, stride, none ? 0 : static_cast<int64_t>((way - 1) / step + 1)};
}

void evaluate(const NoAttrs&, Args in, Results out) {
  const Tensor &x = in[0], &v = in[1];
  std::vector<Set> sets;
  for (size_t d = 0; d < x.rank(); ++d) {
    const auto i = static_cast<int64_t>(d);
    const bool whole = i >= in[2].size();
    sets.push_back(whole
                       ? Set{0, 1, x.shape()[d]}
                       : set_along(index_of(in[2], i), index_of(in[3], i), index_of(in[4], i), x.shape()[d]));
    if (sets[d].count != v.shape()[d]) throw Trap(kWrongShape);
  }
  out[0] = x.copy();
  int64_t n = 0;
  std::vector<int64_t> to(x.rank());
  for_each_index(v.shape(), [&](const std::vector<int64_t>& i) {
    for (size_t d = 0; d < to.size(); ++d) to[d] = sets[d].begin + i[d] * sets[d].stride;
    copy_element(v, n++, out[0], offset_of(x.shape(), to));
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor x = c.in[0], v = c.in[1];
  const Expr zero = k.index(0), one = k.index(1);
  const auto axes = static_cast<size_t>(c.arg_types[2]->dims[0].value());
  const auto entry = [&](size_t input, size_t d) {
    const std::vector<Expr> at{k.index(static_cast<int64_t>(d))};
    return index_at(c.in[input], at);
  };
  const auto is_down = [&](size_t d) { return less(entry(4, d), zero); };
  // The stride without its sign, and at least 1.
  const auto step = [&](size_t d) {
    const Expr stride = entry(4, d);
    return max(select(is_down(d), zero - max(stride, k.index(-INT64_MAX)), stride), one);
  };
  // They fail once, also where no element is set.
  std::vector<kernel::Tensor> begins;
  for (size_t d = 0; d < axes; ++d) {
    begins.push_back(k.compute("begin", kInt64, {}, [&](kernel::Indices) {
      const Expr n = x.dim(d), down = is_down(d);
      const auto within = [&](Expr e) {
        const Expr from_front = select(less(e, zero), e + n, e);
        return min(max(from_front, select(down, k.index(-1), zero)), select(down, n - 1, n));
      };
      const Expr from = within(entry(2, d)), to = within(entry(3, d));
      const Expr way = select(down, from - to, to - from);
      const Expr count = select(less(zero, way), floor_div(max(way, one) - 1, step(d)) + 1, zero);
      k.require(not_equal(entry(4, d), zero), kStrideIsZero);
      k.require(equal(count, v.dim(d)), kWrongShape);
      return from;
    }));
  }
  return {k.compute("strided_set", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<Expr> from = copy_of(i);
    Expr set = c.pool.integer(1, kBool);
    for (size_t d = 0; d < axes; ++d) {
      const Expr begin = begins[d](), way = select(is_down(d), begin - i[d], i[d] - begin);
      from[d] = floor_div(way, step(d));
      set = logical_and(set, logical_and(less_equal(zero, way), less(from[d], v.dim(d))));
      set = logical_and(set, equal(floor_mod(way, step(d)), zero));
    }
    return select(set, v.at(from), x.at(i));
  })};
}

}  // namespace

const OpDef kStridedSet = define<NoAttrs>({
    .name = "strided_set",
    .doc = "A tensor with every so many elements between two positions replaced, along its first axes.",
    .params = {{"data", "any tensor"},
               {"v", "the new elements"},
               {"begin", "first position along each axis"},
               {"end", "position after the last"},
               {"strides", "steps"}},
    .effects = Effects::kTraps,
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
