// The adjoint of pooling's data from the adjoint of its result.
//
//   nn.max_pool2d_grad(data, grad)[i] = sum over the windows w of i of grad[w] / count[w]
//       where data[i] is the maximum of w, 0 elsewhere; count[w] elements of w are the maximum
//   nn.avg_pool2d_grad(data, grad)[i] = sum over the windows w of i
//       of grad[w] / (the number of elements of w)
//   nn.max_pool3d_grad(data, grad)[i] = sum over the windows w of i of grad[w] / count[w]
//       where data[i] is the maximum of w, 0 elsewhere; count[w] elements of w are the maximum
//   nn.avg_pool3d_grad(data, grad)[i] = sum over the windows w of i
//       of grad[w] / (the number of elements of w)
//
//   (Tensor[s, d], Tensor[the shape of the pooled data, d]) -> Tensor[s, d]
//   C1: data is a floating-point tensor of rank 4; of rank 5 for volumes.
//   C2: the attributes and the window are as pooling wants them.
//   C3: grad has the type of the pooled data.
//
// The adjoint of a maximum goes to the elements of the window that are it, in equal shares (to none
// that is NaN); that of a mean to all.
#include <cmath>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/pooling.h"

namespace relay::op {
namespace {

template <class A>
Type relate(Relation& r, const A& a) {
  r.require_rank(0, 2 + a.spatial.size());  // C1
  require(r, 0, Domain::kFloat);            // C1
  const TensorType& x = r.tensor(0);
  r.assign(1, r.tensor_of(pooled(r, read_pool(a), x), x.dtype));  // C2, C3
  return &x;
}

template <class T>
void store(const std::vector<T>& values, Tensor& out) {
  for (size_t i = 0; i < values.size(); ++i) out.set(static_cast<int64_t>(i), values[i]);
}

DType widened(DType d) { return d.bits < 32 ? kFloat32 : d; }

// --- max -----------------------------------------------------------------------------------------

template <class T>
void spread_max(const Pool& p, const Tensor& x, const Tensor& dy, Tensor& out) {
  std::vector<T> dx = work_list<T>(x.size());
  for_each_window(p, x.shape(), dy.shape(), [&](int64_t i, const std::vector<int64_t>& elements, int64_t) {
    double most = -INFINITY, hits = 0;
    for (const int64_t e : elements) most = x.get(e) > most ? x.get(e) : most;
    for (const int64_t e : elements) hits += x.get(e) == most;
    for (const int64_t e : elements) {
      if (x.get(e) == most) dx[static_cast<size_t>(e)] += static_cast<T>(dy.get(i) / hits);
    }
  });
  store(dx, out);
}

template <class A>
void evaluate_max(const A& a, Args in, Results out, Sums sums) {
  with_zero(sums, in[0].dtype(),
            [&](auto zero) { spread_max<decltype(zero)>(read_pool(a), in[0], in[1], out[0]); });
}

// The data say where the adjoint goes, so that their signs count.
template <class A>
void terms_of_max(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  Tensor grad = in[1].copy();
  for (int64_t i = 0; i < grad.size(); ++i) grad.set(i, std::fabs(grad.get(i)));
  const Tensor positive[] = {in[0], grad};
  evaluate_max(read_attrs<A>(attrs), Args(positive), out, Sums::kDouble);
}

template <class A>
std::vector<kernel::Tensor> lower_max(kernel::Builder& k, const A& a, const Lowering& c) {
  const Pool p = read_pool(a);
  const DType d = c.dtype(), wide = widened(d);
  const kernel::Tensor &x = c.in[0], &dy = c.in[1];
  const std::vector<kernel::Expr> window = p.extents(k), extents = p.layout.extents(x.shape());
  const std::string name = cat("max_pool", p.axes(), "d_grad");
  // f of the element r of window i, `otherwise` where that is padding.
  const auto in_window = [&](kernel::Indices i, kernel::Indices r, kernel::Expr otherwise, const auto& f) {
    std::vector<kernel::Expr> at = p.layout.coordinates(i);
    kernel::Expr inside = k.constant(kBool, 1);
    for (size_t axis = 0; axis < p.axes(); ++axis) {
      at[2 + axis] =
          at[2 + axis] * p.window.stride[axis] + r[axis] * p.window.dilation[axis] - p.window.before[axis];
      inside = logical_and(inside, less_equal(k.index(0), at[2 + axis]));
      inside = logical_and(inside, less(at[2 + axis], extents[2 + axis]));
    }
    return select(inside, f(x.at(p.layout.index(at))), otherwise);
  };
  const kernel::Reducer most{k.lowest(d), [](kernel::Expr so_far, kernel::Expr next) {
                               return select(less(so_far, next), next, so_far);
                             }};
  const kernel::Tensor y =
      k.reduce("maximum", d, dy.shape(), window, most, [&](kernel::Indices i, kernel::Indices r) {
        return in_window(i, r, k.lowest(d), [](kernel::Expr e) { return e; });
      });
  const kernel::Tensor hits =
      k.reduce("hits", wide, dy.shape(), window, k.sum(wide), [&](kernel::Indices i, kernel::Indices r) {
        const kernel::Expr one = k.constant(wide, 1), none = k.constant(wide, 0);
        return in_window(i, r, none, [&](kernel::Expr e) { return select(equal(e, y.at(i)), one, none); });
      });
  const kernel::Tensor dx =
      k.reduce(name, wide, c.shape(), window, k.sum(wide), [&](kernel::Indices i, kernel::Indices r) {
        const Covering w = covering(k, p, i, r, dy);
        const kernel::Expr share = cast(wide, dy.at(w.at)) / hits.at(w.at), none = k.constant(wide, 0);
        return select(w.exists, select(equal(x.at(i), y.at(w.at)), share, none), none);
      });
  return {k.compute(cat(name, "_end"), d, c.shape(), [&](kernel::Indices i) { return cast(d, dx.at(i)); })};
}

// --- avg -----------------------------------------------------------------------------------------

template <class T>
void spread_avg(const Pool& p, const Tensor& x, const Tensor& dy, Tensor& out) {
  std::vector<T> dx = work_list<T>(x.size());
  for_each_window(p, x.shape(), dy.shape(),
                  [&](int64_t i, const std::vector<int64_t>& elements, int64_t divisor) {
                    for (const int64_t e : elements) {
                      dx[static_cast<size_t>(e)] += static_cast<T>(dy.get(i) / static_cast<double>(divisor));
                    }
                  });
  store(dx, out);
}

template <class A>
void evaluate_avg(const A& a, Args in, Results out, Sums sums) {
  with_zero(sums, in[0].dtype(),
            [&](auto zero) { spread_avg<decltype(zero)>(read_pool(a), in[0], in[1], out[0]); });
}

// It is linear in grad, and does not look at the data.
template <class A, const OpDef& pooling>
std::vector<Expr> differentiate_avg(Builder& b, const A& a, const Site& c) {
  return {nullptr, call(b, pooling, {c.dy}, pool_attrs(a))};
}

template <class A>
std::vector<kernel::Tensor> lower_avg(kernel::Builder& k, const A& a, const Lowering& c) {
  const Pool p = read_pool(a);
  const DType d = c.dtype(), wide = widened(d);
  const kernel::Tensor& dy = c.in[1];
  const std::vector<kernel::Expr> extents = p.layout.extents(c.in[0].shape());
  const std::string name = cat("avg_pool", p.axes(), "d_grad");
  const kernel::Tensor share = k.compute("share", wide, dy.shape(), [&](kernel::Indices i) {
    return cast(wide, dy.at(i)) / cast(wide, p.count(k, p.layout.coordinates(i), extents));
  });
  const kernel::Tensor dx =
      k.reduce(name, wide, c.shape(), p.extents(k), k.sum(wide), [&](kernel::Indices i, kernel::Indices r) {
        const Covering w = covering(k, p, i, r, dy);
        return select(w.exists, share.at(w.at), k.constant(wide, 0));
      });
  return {k.compute(cat(name, "_end"), d, c.shape(), [&](kernel::Indices i) { return cast(d, dx.at(i)); })};
}

}  // namespace

const OpDef kMaxPool2dGrad = define<MaxPoolAttrs>({
    .name = "nn.max_pool2d_grad",
    .doc = "The adjoint of the data of nn.max_pool2d.",
    .params = {{"data", "what was pooled"}, {"grad", "the adjoint of the result"}},
    .fusion = Fusion::kOpaque,
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = window_length<MaxPoolAttrs>,
                  .terms = terms_of_max<MaxPoolAttrs>},
    .refines = {1},
    .relate = relate<MaxPoolAttrs>,
    .evaluate = evaluate_max<MaxPoolAttrs>,
    .lower = lower_max<MaxPoolAttrs>,
});

const OpDef kAvgPool2dGrad = define<AvgPoolAttrs>({
    .name = "nn.avg_pool2d_grad",
    .doc = "The adjoint of the data of nn.avg_pool2d.",
    .params = {{"data", "what was pooled"}, {"grad", "the adjoint of the result"}},
    .fusion = Fusion::kOpaque,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = window_length<AvgPoolAttrs>},
    .refines = {1},
    .relate = relate<AvgPoolAttrs>,
    .evaluate = evaluate_avg<AvgPoolAttrs>,
    .differentiate = differentiate_avg<AvgPoolAttrs, kAvgPool2d>,
    .lower = lower_avg<AvgPoolAttrs>,
});

const OpDef kMaxPool3dGrad = define<MaxPool3dAttrs>({
    .name = "nn.max_pool3d_grad",
    .doc = "The adjoint of the data of nn.max_pool3d.",
    .params = {{"data", "what was pooled"}, {"grad", "the adjoint of the result"}},
    .fusion = Fusion::kOpaque,
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = window_length<MaxPool3dAttrs>,
                  .terms = terms_of_max<MaxPool3dAttrs>},
    .refines = {1},
    .relate = relate<MaxPool3dAttrs>,
    .evaluate = evaluate_max<MaxPool3dAttrs>,
    .lower = lower_max<MaxPool3dAttrs>,
});

const OpDef kAvgPool3dGrad = define<AvgPool3dAttrs>({
    .name = "nn.avg_pool3d_grad",
    .doc = "The adjoint of the data of nn.avg_pool3d.",
    .params = {{"data", "what was pooled"}, {"grad", "the adjoint of the result"}},
    .fusion = Fusion::kOpaque,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = window_length<AvgPool3dAttrs>},
    .refines = {1},
    .relate = relate<AvgPool3dAttrs>,
    .evaluate = evaluate_avg<AvgPool3dAttrs>,
    .differentiate = differentiate_avg<AvgPool3dAttrs, kAvgPool3d>,
    .lower = lower_avg<AvgPool3dAttrs>,
});

}  // namespace relay::op
