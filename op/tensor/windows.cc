// slice_like, sliding_window: boxes out of a tensor.
#include <algorithm>

#include "base/cat.h"
#include "op/ops.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

// --- slice_like ----------------------------------------------------------------------------------

struct SliceLikeAttrs {
  std::optional<std::vector<int64_t>> axes = {};
  static constexpr auto kFields =
      fields(field("axes", &SliceLikeAttrs::axes,
                   "the axes that are cut, from the end if negative; None or []: all that shape_like has"));
};

// slice_like(x, like)[i] = x[i], for i in the extents of `like` along `axes`
//
//   (Tensor[s, d], Tensor[t, e]) -> Tensor[s with the extents of t at the axes, d]
//   C1: axes are in [-rank, rank) and named once, and shape_like has them.
//   C2: without axes, shape_like has at most the rank of data.
//   C3: the extents of shape_like are at most those of data there.
std::vector<size_t> cut_axes(Relation& r, const SliceLikeAttrs& a) {
  const size_t rank = r.tensor(0).rank(), like = r.tensor(1).rank();
  if (a.axes && !a.axes->empty()) {
    std::vector<size_t> out = distinct_axes(r, *a.axes, rank);  // C1
    for (const size_t axis : out)
      r.require(axis < like, 1, cat("has rank ", like, ", and axis ", axis, " is cut"));  // C1
    return out;
  }
  r.require(like <= rank, 1, cat("has rank ", like, ", above the ", rank, " of data"));  // C2
  std::vector<size_t> out(like);
  for (size_t d = 0; d < like; ++d) out[d] = d;
  return out;
}

Type relate_slice(Relation& r, const SliceLikeAttrs& a) {
  std::vector<Dim> out = dims_of(r.tensor(0));
  for (const size_t axis : cut_axes(r, a)) {
    const Dim extent = out[axis], wanted = r.tensor(1).dims[axis];
    if (extent.is_const() && wanted.is_const()) {
      r.require(wanted.value() <= extent.value(), 1,
                cat("dimension ", axis, ": ", wanted.value(), " is more than the ", extent.value(),
                    " of data"));  // C3
    } else {
      r.same(min(wanted, extent), wanted, 1, cat("dimension ", axis), 0);  // C3
    }
    out[axis] = wanted;
  }
  return r.tensor_of(out, r.tensor(0).dtype);
}

void evaluate_slice(const SliceLikeAttrs&, Args in, Results out) {
  fill_from(in[0], out[0], [](const std::vector<int64_t>& i) -> const std::vector<int64_t>& { return i; });
}

std::vector<kernel::Tensor> lower_slice(kernel::Builder& k, const SliceLikeAttrs&, const Lowering& c) {
  return {k.compute("slice", c.dtype(), c.shape(), [&](kernel::Indices i) { return c.in[0].at(i); })};
}

std::vector<Expr> differentiate_slice(Builder& b, const SliceLikeAttrs&, const Site& c) {
  const TensorType &x = c.tensor(0), &y = tensor_type_of(c.y);
  std::vector<std::pair<Dim, Dim>> around;
  for (size_t d = 0; d < x.rank(); ++d) around.emplace_back(Dim(0), x.dims[d] - y.dims[d]);
  return {zero_padded(b, c.dy, around), nullptr};
}

// --- sliding_window ------------------------------------------------------------------------------

struct SlidingWindowAttrs {
  int64_t axis = 0;
  std::vector<int64_t> window_shape = {};
  std::vector<int64_t> strides = {};
  static constexpr auto kFields = fields(
      field("axis", &SlidingWindowAttrs::axis, "the first one that the window moves along").required(),
      field("window_shape", &SlidingWindowAttrs::window_shape, "extents along it and those that follow")
          .required(),
      field("strides", &SlidingWindowAttrs::strides, "from one window to the next").required());
};

// sliding_window(x)[a.., n.., w..] = x[a.., n_0 t_0 + w_0, n_1 t_1 + w_1, ..]
//
// The window number n begins at n t, where t are the strides. The last windows end within the axes.
//
//   (Tensor[(a.., c..), d]) -> Tensor[(a.., windows along each axis of c, window_shape), d]
//   C1: axis is in [-rank, rank).
//   C2: window_shape and strides have one entry for each axis from `axis` on.
//   C3: both are positive.   C4: no extent is less than that of the window.
Type relate_sliding(Relation& r, const SlidingWindowAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t axis = r.axis(a.axis, x.rank());  // C1
  const size_t moved = x.rank() - axis;
  r.require(a.window_shape.size() == moved && a.strides.size() == moved, kAttributes,
            cat("from axis ", axis, " on there are ", moved, " axes; window_shape has ",
                a.window_shape.size(), " entries, and strides ", a.strides.size()));  // C2
  std::vector<Dim> out(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  for (size_t d = 0; d < moved; ++d) {
    const int64_t window = a.window_shape[d], stride = a.strides[d];
    r.require(window > 0 && stride > 0, kAttributes, "window_shape and strides must be positive");  // C3
    const Dim extent = x.dims[axis + d];
    if (extent.is_const()) {
      r.require(window <= extent.value(), 0,
                cat("dimension ", axis + d, ": ", extent.value(), " is less than the ", window,
                    " of the window"));  // C4
    } else {
      r.same(max(extent, Dim(window)), extent, 0, cat("dimension ", axis + d));  // C4
    }
    out.push_back(floor_div(extent - Dim(window), Dim(stride)) + Dim(1));
  }
  for (const int64_t window : a.window_shape) out.emplace_back(window);
  return r.tensor_of(out, x.dtype);
}

void evaluate_sliding(const SlidingWindowAttrs& a, Args in, Results out) {
  const size_t axis = from_front(a.axis, in[0].rank()), moved = a.strides.size();
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) {
    std::vector<int64_t> from(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis + moved));
    for (size_t d = 0; d < moved; ++d) from[axis + d] = from[axis + d] * a.strides[d] + i[axis + moved + d];
    return from;
  });
}

std::vector<kernel::Tensor> lower_sliding(kernel::Builder& k, const SlidingWindowAttrs& a,
                                          const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  const size_t axis = from_front(a.axis, x.rank()), moved = a.strides.size();
  return {k.compute("sliding_window", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis + moved));
    for (size_t d = 0; d < moved; ++d) from[axis + d] = from[axis + d] * a.strides[d] + i[axis + moved + d];
    return x.at(from);
  })};
}

// dx[j] is the sum of the dy of all windows that have it.
std::vector<Expr> differentiate_sliding(Builder& b, const SlidingWindowAttrs& a, const Site& c) {
  const size_t rank = c.tensor(0).rank(), axis = from_front(a.axis, rank), moved = a.strides.size();
  const std::vector<Dim> dims = dims_of(tensor_type_of(c.y));
  const std::vector<Dim> inner(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end());
  std::vector<Expr> rows;
  for (size_t d = 0; d < moved; ++d) {
    const auto along = [&](size_t at) {
      return Term(b, call(b, kIota, {}, {{"shape", inner}, {"axis", static_cast<int64_t>(at)}}));
    };
    const Term stride(b, b.constant(Tensor::scalar_int(kInt64, a.strides[d])));
    rows.push_back(along(d) * stride + along(moved + d));
  }
  const Expr places = call(b, kStack, {b.tuple(rows)}, {{"axis", int64_t{0}}});
  // The axes that the window moves along come first, in x as in dy.
  std::vector<int64_t> order, order_dy, back;
  for (size_t d = axis; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  for (size_t d = axis; d < rank + moved; ++d) order_dy.push_back(static_cast<int64_t>(d));
  for (size_t d = 0; d < axis; ++d) {
    order.push_back(static_cast<int64_t>(d));
    order_dy.push_back(static_cast<int64_t>(d));
    back.push_back(static_cast<int64_t>(moved + d));
  }
  for (size_t d = 0; d < moved; ++d) back.push_back(static_cast<int64_t>(d));
  const Expr zeros = transposed(b, call(b, kZerosLike, {c.args[0]}), order);
  const Expr sums =
      call(b, kScatterNd, {zeros, places, transposed(b, c.dy, order_dy)}, {{"mode", std::string("add")}});
  return {transposed(b, sums, back)};
}

}  // namespace

const OpDef kSliceLike = define<SliceLikeAttrs>({
    .name = "slice_like",
    .doc = "The beginning of a tensor, as far as another one goes along some axes.",
    .params = {{"data", "any tensor"}, {"shape_like", "its shape counts"}},
    .fusion = Fusion::kInjective,
    .relate = relate_slice,
    .evaluate = evaluate_slice,
    .differentiate = differentiate_slice,
    .lower = lower_slice,
});

const OpDef kSlidingWindow = define<SlidingWindowAttrs>({
    .name = "sliding_window",
    .doc = "All boxes of one shape that lie in a tensor, some steps apart.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate_sliding,
    .evaluate = evaluate_sliding,
    .differentiate = differentiate_sliding,
    .lower = lower_sliding,
});

}  // namespace relay::op
