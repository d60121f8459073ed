// The largest and the mean element of each window of images and volumes.
//
//   nn.max_pool2d(data)[n, c, y, x] = max over u, v of data[n, c, y*s + u*d - p, x*s + v*d - p]
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//
//   nn.avg_pool2d(data)[n, c, y, x] = mean over u, v of data[n, c, y*s + u*d - p, x*s + v*d - p]
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//
//   nn.max_pool3d(data)[n, c, z, y, x] =
//       max over t, u, v of data[n, c, z*s + t*d - p, y*s + u*d - p, x*s + v*d - p]
//   (Tensor[(n, c, l, h, w), d]) -> Tensor[(n, c, l', h', w'), d]
//
//   nn.avg_pool3d(data)[n, c, z, y, x] =
//       mean over t, u, v of data[n, c, z*s + t*d - p, y*s + u*d - p, x*s + v*d - p]
//   (Tensor[(n, c, l, h, w), d]) -> Tensor[(n, c, l', h', w'), d]
//
//   C1: data is a numeric tensor of rank 4; of rank 5 for volumes.
//   C2: the layout is an order of NCHW; of NCDHW for volumes.
//   C3: pool_size, strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: the window fits into the padded data, and 63 bits count its elements.
//
// Padding is not an element: the maximum ignores it, the mean counts it only with
// count_include_pad. Of a window without any element the maximum is the least value of the dtype
// and the mean NaN (of integers, 0). The mean of integers is rounded toward zero. With
// ceil_mode, no window lies entirely in the padding behind the data, and what is beyond the
// padding never counts.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "kernel/scalar.h"
#include "op/domain.h"
#include "op/nn/pooling.h"
#include "runtime/extremes.h"

namespace relay::op {
namespace {

template <class A>
Type relate(Relation& r, const A& a) {
  r.require_rank(0, 2 + a.spatial.size());                           // C1
  require(r, 0, Domain::kNumber);                                    // C1
  const Pool p = read_pool(a);                                       // C2, C3
  return r.tensor_of(pooled(r, p, r.tensor(0)), r.tensor(0).dtype);  // C4
}

// The data with `fill` wherever a window may reach.
kernel::Tensor reachable(kernel::Builder& k, const Pool& p, const kernel::Tensor& x, kernel::Expr fill) {
  if (!p.window.pads() && !p.ceil) return x;
  Window w = p.window;
  for (size_t axis = 0; axis < p.axes() && p.ceil; ++axis) w.after[axis] += w.stride[axis] - 1;
  const std::vector<kernel::Expr> extents = padded_extents(x, p.layout, w);
  return padded(k, x, p.layout, p.window.before, extents, fill);
}

// The element r of the window of result i.
kernel::Expr element(const Pool& p, const kernel::Tensor& x, kernel::Indices i, kernel::Indices r) {
  std::vector<kernel::Expr> at = p.layout.coordinates(i);
  for (size_t axis = 0; axis < p.axes(); ++axis) {
    at[2 + axis] = at[2 + axis] * p.window.stride[axis] + r[axis] * p.window.dilation[axis];
  }
  return x.at(p.layout.index(at));
}

// --- max -----------------------------------------------------------------------------------------

template <class A>
void evaluate_max(const A& a, Args in, Results out) {
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

template <class A, const OpDef& gradient>
std::vector<Expr> differentiate_max(Builder& b, const A& a, const Site& c) {
  return {call(b, gradient, {c.args[0], c.dy}, pool_attrs(a))};
}

template <class A>
std::vector<kernel::Tensor> lower_max(kernel::Builder& k, const A& a, const Lowering& c) {
  const Pool p = read_pool(a);
  const DType d = c.dtype();
  const kernel::Tensor x = reachable(k, p, c.in[0], k.lowest(d));
  return {k.reduce(cat("max_pool", p.axes(), "d"), d, c.shape(), p.extents(k), k.maximum(d),
                   [&](kernel::Indices i, kernel::Indices r) { return element(p, x, i, r); })};
}

// --- avg -----------------------------------------------------------------------------------------

template <class A>
void evaluate_avg(const A& a, Args in, Results out, Sums sums) {
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

template <class A, const OpDef& gradient>
std::vector<Expr> differentiate_avg(Builder& b, const A& a, const Site& c) {
  return {call(b, gradient, {c.args[0], c.dy}, pool_attrs(a))};
}

template <class A>
std::vector<kernel::Tensor> lower_avg(kernel::Builder& k, const A& a, const Lowering& c) {
  const Pool p = read_pool(a);
  const DType d = c.dtype();
  DType wide = d.bits < 32 ? kFloat32 : d;
  if (d.is_int()) wide = d.is_signed_int() ? kInt64 : kUInt64;
  const kernel::Tensor x = reachable(k, p, c.in[0], k.constant(d, 0));
  const kernel::Tensor sum =
      k.reduce(cat("avg_pool", p.axes(), "d_sum"), wide, c.shape(), p.extents(k), k.sum(wide),
               [&](kernel::Indices i, kernel::Indices r) { return cast(wide, element(p, x, i, r)); });
  const std::vector<kernel::Expr> extents = p.layout.extents(c.in[0].shape());
  return {k.compute(cat("avg_pool", p.axes(), "d"), d, c.shape(), [&](kernel::Indices i) {
    const kernel::Expr count = p.count(k, p.layout.coordinates(i), extents);
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
    .evaluate = evaluate_max<MaxPoolAttrs>,
    .differentiate = differentiate_max<MaxPoolAttrs, kMaxPool2dGrad>,
    .lower = lower_max<MaxPoolAttrs>,
});

const OpDef kAvgPool2d = define<AvgPoolAttrs>({
    .name = "nn.avg_pool2d",
    .doc = "The mean of each window of an image.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = window_length<AvgPoolAttrs>},
    .relate = relate<AvgPoolAttrs>,
    .evaluate = evaluate_avg<AvgPoolAttrs>,
    .differentiate = differentiate_avg<AvgPoolAttrs, kAvgPool2dGrad>,
    .lower = lower_avg<AvgPoolAttrs>,
});

const OpDef kMaxPool3d = define<MaxPool3dAttrs>({
    .name = "nn.max_pool3d",
    .doc = "The largest element of each window of a volume.",
    .params = {{"data", "a batch of volumes"}},
    .fusion = Fusion::kOutputFusable,
    .relate = relate<MaxPool3dAttrs>,
    .evaluate = evaluate_max<MaxPool3dAttrs>,
    .differentiate = differentiate_max<MaxPool3dAttrs, kMaxPool3dGrad>,
    .lower = lower_max<MaxPool3dAttrs>,
});

const OpDef kAvgPool3d = define<AvgPool3dAttrs>({
    .name = "nn.avg_pool3d",
    .doc = "The mean of each window of a volume.",
    .params = {{"data", "a batch of volumes"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = window_length<AvgPool3dAttrs>},
    .relate = relate<AvgPool3dAttrs>,
    .evaluate = evaluate_avg<AvgPool3dAttrs>,
    .differentiate = differentiate_avg<AvgPool3dAttrs, kAvgPool3dGrad>,
    .lower = lower_avg<AvgPool3dAttrs>,
});

}  // namespace relay::op
