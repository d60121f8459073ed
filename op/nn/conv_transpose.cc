// Transposed convolution: each element of the data adds the window, times itself, to the result.
//
//   nn.conv2d_transpose(data, weight)[n, g*O + o, h*s + u*d - p, w*s + v*d - p] +=
//       data[n, i, h, w] * weight[i, o, u, v]
//   for all i, h, w, u, v
//   (Tensor[(n, c, h, w), d], Tensor[(c, o, kh, kw), e]) -> Tensor[(n, o * groups, h', w'), out_dtype]
//   where h' = (h - 1) * stride - padding + (kh - 1) * dilation + 1 + output_padding
//
//   nn.conv3d_transpose(data, weight)[n, g*O + o, l*s + t*d - p, h*s + u*d - p, w*s + v*d - p] +=
//       data[n, i, l, h, w] * weight[i, o, t, u, v]
//   for all i, l, h, w, t, u, v
//   (Tensor[(n, c, l, h, w), d], Tensor[(c, o, kl, kh, kw), e]) -> Tensor[(n, o * groups, l', h', w'),
//   out_dtype]
//   where l' = (l - 1) * stride - padding + (kl - 1) * dilation + 1 + output_padding
//
//   C1: data is a numeric tensor of rank 4; of rank 5 for nn.conv3d_transpose.
//   C2: the layouts are orders of NCHW and OIHW; of NCDHW and OIDHW for nn.conv3d_transpose.
//   C3: strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: groups divides the input and the output channels.
//   C5: out_dtype is floating if the data is.
//   C6: weight has the data's rank, the data's dtype (or both are integers and out_dtype is given),
//       the channels of the data, and what channels and kernel_size say.
//   C7: output_padding is not negative and less than the stride.
//
// i is in group g = i // (c / groups). It is the gradient of a convolution with
// respect to its data.
#include <algorithm>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/nn/fit.h"
#include "op/requirements.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

std::vector<int64_t> read_output_padding(const TransposedConvolutionAttrs& a, const Window& w) {
  const std::vector<int64_t>& p = a.output_padding;
  if (p.size() != 1 && p.size() != w.axes()) {
    throw RelationError{kAttributes,
                        cat("output_padding must be 1 or ", w.axes(), " numbers, not ", p.size())};
  }
  std::vector<int64_t> out = p;
  out.resize(w.axes(), p.front());
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    if (out[axis] < 0 || out[axis] >= w.stride[axis]) {
      throw RelationError{kAttributes, cat("output_padding must be at least 0 and less than the stride ",
                                           w.stride[axis], ", not ", out[axis])};
    }
  }
  return out;
}

template <class A>
Type relate(Relation& r, const A& a) {
  r.require_rank(0, 2 + a.spatial.size());                             // C1
  require(r, 0, Domain::kNumber);                                      // C1
  const Convolution c = read_convolution(a);                           // C2, C3
  const DType result = result_dtype(r, a.out_dtype);                   // C5
  const std::vector<int64_t> more = read_output_padding(a, c.window);  // C7
  const std::vector<Dim> x = c.data.extents(r.tensor(0).dims);
  whole_groups(r, x[1], c.groups, 0, "input channels");  // C4
  std::optional<Dim> within;
  if (a.channels) within = whole_groups(r, *a.channels, c.groups, kAttributes, "output channels");  // C4
  const std::vector<Dim> w = relate_weight(r, a, c, {within, x[1]});                                // C6
  std::vector<Dim> y{x[0], w[0] * c.groups};
  for (size_t axis = 0; axis < c.axes(); ++axis) {
    y.push_back((x[2 + axis] - 1) * c.window.stride[axis] + c.window.covers(axis, w[2 + axis]) + more[axis] -
                (c.window.before[axis] + c.window.after[axis]));
    // Of a constant the type of the result says it.
    if (!y.back().is_const()) {
      require_at_least(r, y.back(), 0, kAttributes,
                       cat("the padding is more than there is along the ", name_of_axis(axis, c.axes())));
    }
  }
  return r.tensor_of(c.data.shape(y), result);
}

// An element of a window: its index, and how far it moves the place in the result
// and in the weight.
struct Tap {
  std::vector<int64_t> index;
  int64_t to = 0, from = 0;
};

template <class T>
std::vector<T> spread_out(const Convolution& c, const Tensor& data, const Tensor& weight,
                          const Tensor& result, const std::vector<T>& x, const std::vector<T>& w) {
  std::vector<T> y = work_list<T>(result.size());
  if (data.size() == 0 || weight.size() == 0) return y;
  const auto shape = c.data.extents(data.shape()), out = c.data.extents(result.shape());
  const auto kernel = c.weight.extents(weight.shape());
  const auto xs = strides_of(data.shape(), c.data), ws = strides_of(weight.shape(), c.weight);
  const auto ys = strides_of(result.shape(), c.data);
  const auto place = [&](size_t axis, int64_t at, int64_t tap) {
    return at * c.window.stride[axis] + tap * c.window.dilation[axis] - c.window.before[axis];
  };
  std::vector<Tap> taps;
  for (std::vector<int64_t>& index : indices_of(Shape(kernel.begin() + 2, kernel.end()))) {
    Tap tap{.index = std::move(index)};
    for (size_t axis = 0; axis < c.axes(); ++axis) {
      tap.to += tap.index[axis] * c.window.dilation[axis] * ys[2 + axis];
      tap.from += tap.index[axis] * ws[2 + axis];
    }
    taps.push_back(std::move(tap));
  }
  const auto is_inside = [&](const std::vector<int64_t>& at, const Tap& tap) {
    bool inside = true;
    for (size_t axis = 0; axis < c.axes(); ++axis) {
      const int64_t p = place(axis, at[axis], tap.index[axis]);
      inside = inside && p >= 0 && p < out[2 + axis];
    }
    return inside;
  };
  for (const std::vector<int64_t>& at : indices_of(Shape(shape.begin() + 2, shape.end()))) {
    int64_t from = 0, to = 0;
    for (size_t axis = 0; axis < c.axes(); ++axis) {
      from += at[axis] * xs[2 + axis];
      to += place(axis, at[axis], 0) * ys[2 + axis];
    }
    for (const Tap& tap : taps) {
      if (!is_inside(at, tap)) continue;
      for (int64_t n = 0; n < shape[0]; ++n) {
        for (int64_t i = 0; i < shape[1]; ++i) {
          const int64_t first = i / (shape[1] / c.groups) * kernel[0];  // output channel of the group
          const T value = x[static_cast<size_t>(from + n * xs[0] + i * xs[1])];
          for (int64_t o = 0; o < kernel[0]; ++o) {
            y[static_cast<size_t>(to + tap.to + n * ys[0] + (first + o) * ys[1])] +=
                value * w[static_cast<size_t>(tap.from + o * ws[0] + i * ws[1])];
          }
        }
      }
    }
  }
  return y;
}

template <class A>
void evaluate(const A& a, Args in, Results out, Sums sums) {
  const Convolution c = read_convolution(a);
  evaluate_products(in, out, sums,
                    [&](const auto& x, const auto& w) { return spread_out(c, in[0], in[1], out[0], x, w); });
}

// The operator is the transpose of a convolution with the same weight, so that its gradients are
// those of that convolution with data and result exchanged.
template <class A>
std::vector<Expr> differentiate(Builder& b, const A& a, const Site& s) {
  const Convolution c = read_convolution(a);
  const DType d = s.tensor(0).dtype;
  // Without elements nothing was added, and no window would fit into dy.
  const List<Dim>& extents = s.tensor(0).dims;
  if (std::find(extents.begin(), extents.end(), Dim(0)) != extents.end())
    return {call(b, kZerosLike, {s.args[0]}), call(b, kZerosLike, {s.args[1]})};
  const std::vector<Dim> w = c.weight.extents(s.tensor(1).dims);
  // In the letters of the convolution the data's channels are the output channels: the weight is
  // I, O, and the window here.
  const Layout weight_layout = read_order("kernel_layout", a.kernel_layout, cat("IO", a.spatial));
  const Expr data = canonical(b, s.args[0], c.data, d), weight = canonical(b, s.args[1], weight_layout, d);
  const Expr dy = canonical(b, s.dy, c.data, d);
  const Expr dx = call(b, convolution_over(c.axes()), {dy, weight}, convolution_attrs(c.window, c.groups));
  const Expr dw = weight_gradient(b, dy, data, c.window, c.groups, std::span(w).subspan(2));
  return {from_canonical(b, dx, c.data, d), from_canonical(b, dw, weight_layout, s.tensor(1).dtype)};
}

// The data with zeros between (for the stride) and around its elements, so that a convolution with
// the turned window gives `out`.
kernel::Tensor stretched(kernel::Builder& k, const kernel::Tensor& x, const Convolution& c,
                         const std::vector<kernel::Expr>& size, const std::vector<kernel::Expr>& out) {
  const std::vector<kernel::Expr> shape = c.data.extents(x.shape());
  std::vector<kernel::Expr> offset, wide = shape;
  for (size_t axis = 0; axis < c.axes(); ++axis) {
    const kernel::Expr reach = (size[2 + axis] - 1) * c.window.dilation[axis];
    offset.push_back(reach - c.window.before[axis]);
    wide[2 + axis] = out[2 + axis] + reach;
  }
  return k.compute("stretched", x.dtype(), c.data.shape(wide), [&](kernel::Indices i) {
    std::vector<kernel::Expr> at = c.data.coordinates(i);
    kernel::Expr inside = k.constant(kBool, 1);
    for (size_t axis = 0; axis < c.axes(); ++axis) {
      const int64_t stride = c.window.stride[axis];
      const kernel::Expr from = at[2 + axis] - offset[axis];
      at[2 + axis] = floor_div(from, stride);
      inside = logical_and(inside, less_equal(k.index(0), from));
      inside = logical_and(inside, less(at[2 + axis], shape[2 + axis]));
      if (stride != 1) inside = logical_and(inside, equal(floor_mod(from, stride), k.index(0)));
    }
    return select(inside, x.at(c.data.index(at)), k.constant(x.dtype(), 0));
  });
}

template <class A>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const A& a, const Lowering& l) {
  const Convolution c = read_convolution(a);
  const kernel::Tensor &x = l.in[0], &w = l.in[1];
  const std::vector<kernel::Expr> size = c.weight.extents(w.shape());
  const kernel::Tensor wide = stretched(k, x, c, size, c.data.extents(l.shape()));
  const kernel::Expr channels = floor_div(x.dim(c.data.place(1)), c.groups);
  std::vector<kernel::Expr> extents{channels};
  extents.insert(extents.end(), size.begin() + 2, size.end());
  const std::string name = cat("conv", c.axes(), "d_transpose");
  const DType sum = sum_dtype(x.dtype(), l.dtype());
  const kernel::Tensor y =
      k.reduce(name, sum, l.shape(), extents, k.sum(sum), [&](kernel::Indices i, kernel::Indices r) {
        const std::vector<kernel::Expr> at = c.data.coordinates(i);
        kernel::Expr channel = r[0], o = at[1];
        if (c.groups != 1) {
          channel = channel + floor_div(at[1], size[0]) * channels;
          o = floor_mod(at[1], size[0]);
        }
        std::vector<kernel::Expr> from_x{at[0], channel}, from_w{o, channel};
        for (size_t axis = 0; axis < c.axes(); ++axis) {
          const kernel::Expr tap = r[1 + axis];
          from_x.push_back(at[2 + axis] + tap * c.window.dilation[axis]);
          from_w.push_back(size[2 + axis] - 1 - tap);
        }
        return cast(sum, wide.at(c.data.index(from_x))) * cast(sum, w.at(c.weight.index(from_w)));
      });
  if (sum == l.dtype()) return {y};
  return {k.compute(cat(name, "_end"), l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

// At most as many products as the window has elements, for each channel of a group.
template <class A>
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const A a = read_attrs<A>(attrs);
  const std::vector<Dim> w = read_convolution(a).weight.extents(args[1]->as<TensorType>()->dims);
  return constant_part(std::span(w).subspan(1)) / a.groups;
}

}  // namespace

const OpDef kConv2dTranspose = define<TransposedConvolutionAttrs>({
    .name = "nn.conv2d_transpose",
    .doc = "The transpose of a convolution (a \"deconvolution\"): from small images to large ones.",
    .params = {{"data", "a batch of images"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<TransposedConvolutionAttrs>},
    .refines = {1},
    .relate = relate<TransposedConvolutionAttrs>,
    .evaluate = evaluate<TransposedConvolutionAttrs>,
    .differentiate = differentiate<TransposedConvolutionAttrs>,
    .lower = lower<TransposedConvolutionAttrs>,
});

const OpDef kConv3dTranspose = define<Conv3dTransposeAttrs>({
    .name = "nn.conv3d_transpose",
    .doc = "The transpose of a convolution over volumes: from small volumes to large ones.",
    .params = {{"data", "a batch of volumes"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<Conv3dTransposeAttrs>},
    .refines = {1},
    .relate = relate<Conv3dTransposeAttrs>,
    .evaluate = evaluate<Conv3dTransposeAttrs>,
    .differentiate = differentiate<Conv3dTransposeAttrs>,
    .lower = lower<Conv3dTransposeAttrs>,
});

}  // namespace relay::op
