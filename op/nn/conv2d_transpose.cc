// nn.conv2d_transpose(data, weight): each element of the data adds the window, times itself, to the result.
//
//   y[n, g*O + o, h*s + u*d - p, w*s + v*d - p] += data[n, i, h, w] * weight[i, o, u, v]
//   for all h, w, u, v
//
//   (Tensor[(n, c, h, w), d], Tensor[(c, o, kh, kw), e]) -> Tensor[(n, o * groups, h', w'), out_dtype]
//   where h' = (h - 1) * stride - padding + (kh - 1) * dilation + 1 + output_padding
//   C1: data is a numeric tensor of rank 4.   C2: the layouts are orders of NCHW and OIHW.
//   C3: strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: groups divides the input and the output channels.
//   C5: out_dtype is floating if the data is.
//   C6: weight has rank 4, the data's dtype (or both are integers and out_dtype is given), the
//       channels of the data, and what channels and kernel_size say.
//   C7: output_padding is not negative and less than the stride.
//
// i is in group g = i // (c / groups). It is the gradient of nn.conv2d with respect to its data.
#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

std::array<int64_t, 2> read_output_padding(const TransposedConvolutionAttrs& a, const Window& w) {
  const std::vector<int64_t>& p = a.output_padding;
  if (p.size() != 1 && p.size() != 2) {
    throw RelationError{kAttributes, cat("output_padding must be 1 or 2 numbers, not ", p.size())};
  }
  const std::array<int64_t, 2> out{p.front(), p.back()};
  for (size_t axis = 0; axis < 2; ++axis) {
    if (out[axis] < 0 || out[axis] >= w.stride[axis]) {
      throw RelationError{kAttributes, cat("output_padding must be at least 0 and less than the stride ",
                                           w.stride[axis], ", not ", out[axis])};
    }
  }
  return out;
}

Type relate(Relation& r, const TransposedConvolutionAttrs& a) {
  r.require_rank(0, 4);                                                  // C1
  require(r, 0, Domain::kNumber);                                        // C1
  const Convolution c = read_convolution(a);                             // C2, C3
  const DType result = result_dtype(r, a.out_dtype);                     // C5
  const std::array<int64_t, 2> more = read_output_padding(a, c.window);  // C7
  const std::array<Dim, 4> x = parts(c.data, r.tensor(0).dims);
  per_group(x[1], c.groups, 0, "input channels");  // C4
  std::optional<Dim> within;
  if (a.channels) within = per_group(*a.channels, c.groups, kAttributes, "output channels");  // C4
  const std::array<Dim, 4> w = relate_weight(r, a, c, {within, x[1]});                        // C6
  const auto extent = [&](size_t axis) {
    return (x[2 + axis] - 1) * c.window.stride[axis] + c.window.covers(axis, w[2 + axis]) + more[axis] -
           (c.window.before[axis] + c.window.after[axis]);
  };
  return r.tensor_of(c.data.shape(std::array<Dim, 4>{x[0], w[0] * c.groups, extent(0), extent(1)}), result);
}

template <class T>
std::vector<T> spread_out(const Convolution& c, const Tensor& data, const Tensor& weight,
                          const Tensor& result, const std::vector<T>& x, const std::vector<T>& w) {
  const auto shape = parts(c.data, data.shape()), out = parts(c.data, result.shape());
  const auto kernel = parts(c.weight, weight.shape());
  const auto xs = strides_of(data.shape(), c.data), ws = strides_of(weight.shape(), c.weight);
  const auto ys = strides_of(result.shape(), c.data);
  std::vector<T> y = work_list<T>(result.size());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t i = 0; i < shape[1]; ++i) {
      const int64_t first = i / (shape[1] / c.groups) * kernel[0];  // output channel of the group
      for (int64_t top = 0; top < shape[2]; ++top) {
        for (int64_t left = 0; left < shape[3]; ++left) {
          const T value = x[static_cast<size_t>(n * xs[0] + i * xs[1] + top * xs[2] + left * xs[3])];
          for (int64_t o = 0; o < kernel[0]; ++o) {
            for (int64_t u = 0; u < kernel[2]; ++u) {
              const int64_t row = top * c.window.stride[0] + u * c.window.dilation[0] - c.window.before[0];
              if (row < 0 || row >= out[2]) continue;
              for (int64_t v = 0; v < kernel[3]; ++v) {
                const int64_t column =
                    left * c.window.stride[1] + v * c.window.dilation[1] - c.window.before[1];
                if (column < 0 || column >= out[3]) continue;
                y[static_cast<size_t>(n * ys[0] + (first + o) * ys[1] + row * ys[2] + column * ys[3])] +=
                    value * w[static_cast<size_t>(o * ws[0] + i * ws[1] + u * ws[2] + v * ws[3])];
              }
            }
          }
        }
      }
    }
  }
  return y;
}

void evaluate(const TransposedConvolutionAttrs& a, Args in, Results out, Sums sums) {
  const Convolution c = read_convolution(a);
  evaluate_products(in, out, sums,
                    [&](const auto& x, const auto& w) { return spread_out(c, in[0], in[1], out[0], x, w); });
}

// The operator is the transpose of a convolution with the same weight, so that its gradients are
// those of that convolution with data and result exchanged.
std::vector<Expr> differentiate(Builder& b, const TransposedConvolutionAttrs& a, const Site& s) {
  const Convolution c = read_convolution(a);
  const DType d = s.tensor(0).dtype;
  const std::array<Dim, 4> w = parts(c.weight, s.tensor(1).dims);
  // In the letters of the convolution the data's channels are the output channels: the weight is
  // I, O, H, W here.
  const Layout weight_layout = read_order("kernel_layout", a.kernel_layout, "IOHW");
  const Expr data = canonical(b, s.args[0], c.data, d), weight = canonical(b, s.args[1], weight_layout, d);
  const Expr dy = canonical(b, s.dy, c.data, d);
  const Expr dx = call(b, kConv2d, {dy, weight}, convolution_attrs(c.window, c.groups));
  const Expr dw = weight_gradient(b, dy, data, c.window, c.groups, w[2], w[3]);
  return {from_canonical(b, dx, c.data, d), from_canonical(b, dw, weight_layout, s.tensor(1).dtype)};
}

// The data with zeros between (for the stride) and around its elements; then a convolution with
// the turned window.
std::vector<kernel::Tensor> lower(kernel::Builder& k, const TransposedConvolutionAttrs& a,
                                  const Lowering& l) {
  const Convolution c = read_convolution(a);
  const kernel::Tensor &x = l.in[0], &w = l.in[1];
  const std::array<kernel::Expr, 4> shape = parts(c.data, x.shape()), size = parts(c.weight, w.shape());
  const std::array<kernel::Expr, 4> out = parts(c.data, l.shape());
  std::array<kernel::Expr, 2> offset;
  std::array<kernel::Expr, 4> stretched = shape;
  for (size_t axis = 0; axis < 2; ++axis) {
    const kernel::Expr reach = (size[2 + axis] - 1) * c.window.dilation[axis];
    offset[axis] = reach - c.window.before[axis];
    stretched[2 + axis] = out[2 + axis] + reach;
  }
  const kernel::Tensor wide =
      k.compute("stretched", x.dtype(), c.data.shape(stretched), [&](kernel::Indices i) {
        std::array<kernel::Expr, 4> at = parts(c.data, i);
        kernel::Expr inside = k.constant(kBool, 1);
        for (size_t axis = 0; axis < 2; ++axis) {
          const int64_t stride = c.window.stride[axis];
          const kernel::Expr from = at[2 + axis] - offset[axis];
          at[2 + axis] = floor_div(from, stride);
          inside = logical_and(inside, less_equal(k.index(0), from));
          inside = logical_and(inside, less(at[2 + axis], shape[2 + axis]));
          if (stride != 1) inside = logical_and(inside, equal(floor_mod(from, stride), k.index(0)));
        }
        return select(inside, x.at(c.data.index(at)), k.constant(x.dtype(), 0));
      });
  const kernel::Expr channels = floor_div(shape[1], c.groups);
  const DType sum = sum_dtype(x.dtype(), l.dtype());
  const kernel::Tensor y = k.reduce(
      "conv2d_transpose", sum, l.shape(), {channels, size[2], size[3]}, k.sum(sum),
      [&](kernel::Indices i, kernel::Indices r) {
        const std::array<kernel::Expr, 4> at = parts(c.data, i);
        kernel::Expr channel = r[0], o = at[1];
        if (c.groups != 1) {
          channel = channel + floor_div(at[1], size[0]) * channels;
          o = floor_mod(at[1], size[0]);
        }
        const kernel::Expr row = at[2] + r[1] * c.window.dilation[0],
                           column = at[3] + r[2] * c.window.dilation[1];
        const kernel::Expr u = size[2] - 1 - r[1], v = size[3] - 1 - r[2];
        return cast(sum, wide.at(c.data.index(std::array<kernel::Expr, 4>{at[0], channel, row, column}))) *
               cast(sum, w.at(c.weight.index(std::array<kernel::Expr, 4>{o, channel, u, v})));
      });
  if (sum == l.dtype()) return {y};
  return {k.compute("conv2d_transpose_end", l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

// At most as many products as the window has elements, for each channel of a group.
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const TransposedConvolutionAttrs a = read_attrs<TransposedConvolutionAttrs>(attrs);
  const std::array<Dim, 4> w = parts(read_convolution(a).weight, args[1]->as<TensorType>()->dims);
  return constant_part(std::span(w).subspan(1)) / a.groups;
}

}  // namespace

const OpDef kConv2dTranspose = define<TransposedConvolutionAttrs>({
    .name = "nn.conv2d_transpose",
    .doc = "The transpose of a convolution (a \"deconvolution\"): from small images to large ones.",
    .params = {{"data", "a batch of images"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .refines = {1},
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
