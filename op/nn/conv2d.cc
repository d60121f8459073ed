// nn.conv2d(data, weight)[n, o, y, x] =
//     sum over i, u, v of data[n, g*I + i, y*s + u*d - p, x*s + v*d - p] * weight[o, i, u, v]
//
//   (Tensor[(n, c, h, w), d], Tensor[(o, c / groups, kh, kw), e]) -> Tensor[(n, o, h', w'), out_dtype]
//   C1: data is a numeric tensor of rank 4.   C2: the layouts are orders of NCHW and OIHW.
//   C3: strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: groups divides the input and the output channels.
//   C5: out_dtype is floating if the data is.
//   C6: weight has rank 4, the data's dtype (or both are integers and out_dtype is given), the
//       channels of a group, and what channels and kernel_size say.
//   C7: the window fits into the padded data.
//
// o is in group g = o // (O / groups), which sees I = c / groups channels. Outside of the data
// there are zeros. Integers are multiplied and summed in the result's dtype, float16 and
// bfloat16 in float32.
#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const ConvolutionAttrs& a) {
  r.require_rank(0, 4);                               // C1
  require(r, 0, Domain::kNumber);                     // C1
  const Convolution c = read_convolution(a);          // C2, C3
  const DType result = result_dtype(r, a.out_dtype);  // C5
  const std::array<Dim, 4> x = parts(c.data, r.tensor(0).dims);
  const Dim within = per_group(x[1], c.groups, 0, "input channels");                        // C4
  const std::array<Dim, 4> w = relate_weight(r, a, c, {a.channels, within});                // C6
  per_group(w[0], c.groups, r.known(1) ? 1 : kAttributes, "output channels");               // C4
  const Dim height = c.window.count(0, x[2], w[2]), width = c.window.count(1, x[3], w[3]);  // C7
  return r.tensor_of(c.data.shape(std::array<Dim, 4>{x[0], w[0], height, width}), result);
}

// Sums in T: floating point, or integers that wrap at 64 bits.
template <class T>
std::vector<T> convolve(const Convolution& c, const Tensor& data, const Tensor& weight, const Tensor& result,
                        const std::vector<T>& x, const std::vector<T>& w) {
  const auto shape = parts(c.data, data.shape()), out = parts(c.data, result.shape());
  const auto kernel = parts(c.weight, weight.shape());
  const auto xs = strides_of(data.shape(), c.data), ws = strides_of(weight.shape(), c.weight);
  const auto ys = strides_of(result.shape(), c.data);
  std::vector<T> y = work_list<T>(result.size());
  std::vector<T> row(static_cast<size_t>(out[3]));
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      const int64_t first = o / (out[1] / c.groups) * kernel[1];  // input channel of the group
      for (int64_t top = 0; top < out[2]; ++top) {
        std::fill(row.begin(), row.end(), T(0));
        for (int64_t i = 0; i < kernel[1]; ++i) {
          for (int64_t u = 0; u < kernel[2]; ++u) {
            const int64_t from_row = top * c.window.stride[0] + u * c.window.dilation[0] - c.window.before[0];
            if (from_row < 0 || from_row >= shape[2]) continue;
            for (int64_t v = 0; v < kernel[3]; ++v) {
              const T factor = w[static_cast<size_t>(o * ws[0] + i * ws[1] + u * ws[2] + v * ws[3])];
              const int64_t line = n * xs[0] + (first + i) * xs[1] + from_row * xs[2];
              for (int64_t left = 0; left < out[3]; ++left) {
                const int64_t from =
                    left * c.window.stride[1] + v * c.window.dilation[1] - c.window.before[1];
                if (from < 0 || from >= shape[3]) continue;
                row[static_cast<size_t>(left)] += factor * x[static_cast<size_t>(line + from * xs[3])];
              }
            }
          }
        }
        for (int64_t left = 0; left < out[3]; ++left) {
          y[static_cast<size_t>(n * ys[0] + o * ys[1] + top * ys[2] + left * ys[3])] =
              row[static_cast<size_t>(left)];
        }
      }
    }
  }
  return y;
}

void evaluate(const ConvolutionAttrs& a, Args in, Results out, Sums sums) {
  const Convolution c = read_convolution(a);
  evaluate_products(in, out, sums,
                    [&](const auto& x, const auto& w) { return convolve(c, in[0], in[1], out[0], x, w); });
}

std::vector<Expr> differentiate(Builder& b, const ConvolutionAttrs& a, const Site& s) {
  const Convolution c = read_convolution(a);
  const DType d = s.tensor(0).dtype;
  const std::array<Dim, 4> x = parts(c.data, s.tensor(0).dims), w = parts(c.weight, s.tensor(1).dims);
  const Expr data = canonical(b, s.args[0], c.data, d), weight = canonical(b, s.args[1], c.weight, d);
  const Expr dy = canonical(b, s.dy, c.data, d);
  const Expr dx = data_gradient(b, dy, weight, c.window, c.groups, x[2], x[3]);
  const Expr dw = weight_gradient(b, data, dy, c.window, c.groups, w[2], w[3]);
  return {from_canonical(b, dx, c.data, d), from_canonical(b, dw, c.weight, s.tensor(1).dtype)};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const ConvolutionAttrs& a, const Lowering& l) {
  const Convolution c = read_convolution(a);
  kernel::Tensor x = l.in[0];
  const kernel::Tensor& w = l.in[1];
  if (c.window.pads()) {
    std::array<kernel::Expr, 2> extents;
    for (size_t axis = 0; axis < 2; ++axis) {
      extents[axis] = x.dim(c.data.place(2 + axis)) + (c.window.before[axis] + c.window.after[axis]);
    }
    x = padded(k, x, c.data, c.window.before, extents, k.constant(x.dtype(), 0));
  }
  const std::array<kernel::Expr, 4> kernel_dims = parts(c.weight, w.shape());
  const std::array<kernel::Expr, 4> out = parts(c.data, l.shape());
  const kernel::Expr within = kernel_dims[1];
  const bool one_channel = within.is_int(1);  // depthwise, or an image of one channel
  std::vector<kernel::Expr> extents{kernel_dims[2], kernel_dims[3]};
  if (!one_channel) extents.insert(extents.begin(), within);

  const DType sum = sum_dtype(x.dtype(), l.dtype());
  const kernel::Tensor y =
      k.reduce("conv2d", sum, l.shape(), extents, k.sum(sum), [&](kernel::Indices i, kernel::Indices r) {
        const std::array<kernel::Expr, 4> at = parts(c.data, i);
        const kernel::Expr u = r[r.size() - 2], v = r[r.size() - 1];
        const kernel::Expr channel = one_channel ? k.index(0) : r[0];
        kernel::Expr from = channel;
        if (c.groups != 1) from = from + floor_div(at[1], floor_div(out[1], c.groups)) * within;
        const kernel::Expr row = at[2] * c.window.stride[0] + u * c.window.dilation[0];
        const kernel::Expr column = at[3] * c.window.stride[1] + v * c.window.dilation[1];
        return cast(sum, x.at(c.data.index(std::array<kernel::Expr, 4>{at[0], from, row, column}))) *
               cast(sum, w.at(c.weight.index(std::array<kernel::Expr, 4>{at[1], channel, u, v})));
      });
  if (sum == l.dtype()) return {y};
  return {k.compute("conv2d_end", l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

// The number of products in each sum.
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const Convolution c = read_convolution(read_attrs<ConvolutionAttrs>(attrs));
  const std::array<Dim, 4> w = parts(c.weight, args[1]->as<TensorType>()->dims);
  return constant_part(std::span(w).subspan(1));
}

}  // namespace

const OpDef kConv2d = define<ConvolutionAttrs>({
    .name = "nn.conv2d",
    .doc = "Convolution over images: each output channel weighs the neighbourhoods of the input channels.",
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
