// The largest and the mean element of each window.
//
//   nn.max_pool2d(data)[n, c, y, x] = max over u, v of data[n, c, y*s + u*d - p, x*s + v*d - p]
//   nn.avg_pool2d(data)[n, c, y, x] = mean over u, v of data[n, c, y*s + u*d - p, x*s + v*d - p]
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//   C1: data is a numeric tensor of rank 4.   C2: the layout is an order of NCHW.
//   C3: pool_size, strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: the window fits into the padded data.
//
// Padding is not an element: the maximum ignores it, the mean counts it only with
// count_include_pad. Of a window without any element the maximum is the least value of the dtype
// and the mean NaN (of integers, 0). The mean of integers is rounded toward zero. With
// ceil_mode, no window lies entirely in the padding behind the data, and what is beyond the
// padding never counts.
#include <algorithm>
#include <cmath>

#include "kernel/scalar.h"
#include "op/domain.h"
#include "op/nn/pooling.h"
#include "runtime/extremes.h"

namespace relay::op {
namespace {

template <class A>
Type relate(Relation& r, const A& a) {
  r.require_rank(0, 4);                                           // C1
  require(r, 0, Domain::kNumber);                                 // C1
  const Pool p = read_pool(a);                                    // C2, C3
  return r.tensor_of(pooled(p, r.tensor(0)), r.tensor(0).dtype);  // C4
}

// The data with `fill` wherever a window may reach.
kernel::Tensor reachable(kernel::Builder& k, const Pool& p, const kernel::Tensor& x, kernel::Expr fill) {
  if (!p.window.pads() && !p.ceil) return x;
  std::array<kernel::Expr, 2> extents;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t beyond = p.ceil ? p.window.stride[axis] - 1 : 0;
    extents[axis] = x.dim(p.layout.place(2 + axis)) + (p.window.before[axis] + p.window.after[axis] + beyond);
  }
  return padded(k, x, p.layout, p.window.before, extents, fill);
}

// The element (r[0], r[1]) of the window of result i.
kernel::Expr element(const Pool& p, const kernel::Tensor& x, kernel::Indices i, kernel::Indices r) {
  std::array<kernel::Expr, 4> at = parts(p.layout, i);
  for (size_t axis = 0; axis < 2; ++axis) {
    at[2 + axis] = at[2 + axis] * p.window.stride[axis] + r[axis] * p.window.dilation[axis];
  }
  return x.at(p.layout.index(at));
}

// --- max_pool2d ----------------------------------------------------------------------------------

void evaluate_max(const MaxPoolAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const DType d = x.dtype();
  for_each_window(read_pool(a), x.shape(), out[0].shape(),
                  [&](int64_t i, const std::vector<int64_t>& elements, int64_t) {
                    if (d.is_float()) {
                      double most = least_real(d);
                      for (const int64_t e : elements) most = kernel::scalar::greatest(most, x.get(e));
                      out[0].set(i, most);
                    } else {
                      int64_t most = d.is_signed_int() ? INT64_MIN >> (64 - d.bits) : 0;
                      for (const int64_t e : elements)
                        most = kernel::scalar::binary(kernel::ExprKind::kMax, d, most, x.get_int(e));
                      out[0].set_int(i, most);
                    }
                  });
}

std::vector<Expr> differentiate_max(Builder& b, const MaxPoolAttrs& a, const Site& c) {
  return {call(b, kMaxPool2dGrad, {c.args[0], c.dy}, pool_attrs(a))};
}

std::vector<kernel::Tensor> lower_max(kernel::Builder& k, const MaxPoolAttrs& a, const Lowering& c) {
  const Pool p = read_pool(a);
  const DType d = c.dtype();
  const kernel::Tensor x = reachable(k, p, c.in[0], k.lowest(d));
  return {k.reduce("max_pool2d", d, c.shape(), {k.index(p.size[0]), k.index(p.size[1])}, k.maximum(d),
                   [&](kernel::Indices i, kernel::Indices r) { return element(p, x, i, r); })};
}

// --- avg_pool2d ----------------------------------------------------------------------------------

void evaluate_avg(const AvgPoolAttrs& a, Args in, Results out, Sums sums) {
  const Tensor& x = in[0];
  const DType d = x.dtype();
  for_each_window(read_pool(a), x.shape(), out[0].shape(),
                  [&](int64_t i, const std::vector<int64_t>& elements, int64_t divisor) {
                    if (d.is_float()) {
                      with_zero(sums, d, [&](auto sum) {
                        for (const int64_t e : elements) sum += static_cast<decltype(sum)>(x.get(e));
                        out[0].set(i, sum / static_cast<double>(divisor));
                      });
                      return;
                    }
                    uint64_t sum = 0;
                    for (const int64_t e : elements) sum += static_cast<uint64_t>(x.get_int(e));
                    divisor = std::max<int64_t>(divisor, 1);
                    out[0].set_int(i, d.is_signed_int()
                                          ? static_cast<int64_t>(sum) / divisor
                                          : static_cast<int64_t>(sum / static_cast<uint64_t>(divisor)));
                  });
}

std::vector<Expr> differentiate_avg(Builder& b, const AvgPoolAttrs& a, const Site& c) {
  return {call(b, kAvgPool2dGrad, {c.args[0], c.dy}, pool_attrs(a))};
}

std::vector<kernel::Tensor> lower_avg(kernel::Builder& k, const AvgPoolAttrs& a, const Lowering& c) {
  const Pool p = read_pool(a);
  const DType d = c.dtype();
  DType wide = d.bits < 32 ? kFloat32 : d;
  if (d.is_int()) wide = d.is_signed_int() ? kInt64 : kUInt64;
  const kernel::Tensor x = reachable(k, p, c.in[0], k.constant(d, 0));
  const kernel::Tensor sum =
      k.reduce("avg_pool2d_sum", wide, c.shape(), {k.index(p.size[0]), k.index(p.size[1])}, k.sum(wide),
               [&](kernel::Indices i, kernel::Indices r) { return cast(wide, element(p, x, i, r)); });
  const std::array<kernel::Expr, 4> extents = parts(p.layout, c.in[0].shape());
  return {k.compute("avg_pool2d", d, c.shape(), [&](kernel::Indices i) {
    const std::array<kernel::Expr, 4> at = parts(p.layout, i);
    const kernel::Expr count = p.count(k, 0, at[2], extents[2]) * p.count(k, 1, at[3], extents[3]);
    if (d.is_float()) return cast(d, sum.at(i) / cast(wide, count));
    return cast(d, trunc_div(sum.at(i), cast(wide, max(count, k.index(1)))));
  })};
}

}  // namespace

const OpDef kMaxPool2d = define<MaxPoolAttrs>({
    .name = "nn.max_pool2d",
    .doc = "The largest element of each window of an image.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kOutputFusable,
    .relate = relate<MaxPoolAttrs>,
    .evaluate = evaluate_max,
    .differentiate = differentiate_max,
    .lower = lower_max,
});

const OpDef kAvgPool2d = define<AvgPoolAttrs>({
    .name = "nn.avg_pool2d",
    .doc = "The mean of each window of an image.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = window_length<AvgPoolAttrs>},
    .relate = relate<AvgPoolAttrs>,
    .evaluate = evaluate_avg,
    .differentiate = differentiate_avg,
    .lower = lower_avg,
});

}  // namespace relay::op
