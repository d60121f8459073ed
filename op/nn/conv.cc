// Convolution over images and volumes.
//
//   nn.conv2d(data, weight)[n, o, y, x] =
//       sum over i, u, v of data[n, g*I + i, y*s + u*d - p, x*s + v*d - p] * weight[o, i, u, v]
//   (Tensor[(n, c, h, w), d], Tensor[(o, c / groups, kh, kw), e]) -> Tensor[(n, o, h', w'), out_dtype]
//
//   nn.conv3d(data, weight)[n, o, z, y, x] =
//       sum over i, t, u, v of data[n, g*I + i, z*s + t*d - p, y*s + u*d - p, x*s + v*d - p] *
//       weight[o, i, t, u, v]
//   (Tensor[(n, c, l, h, w), d], Tensor[(o, c / groups, kl, kh, kw), e]) -> Tensor[(n, o, l', h', w'),
//   out_dtype]
//
//   C1: data is a numeric tensor of rank 4; of rank 5 for nn.conv3d.
//   C2: the layouts are orders of NCHW and OIHW; of NCDHW and OIDHW for nn.conv3d.
//   C3: strides and dilation are positive, padding is not negative, of as many numbers
//       as there may be.
//   C4: groups divides the input and the output channels.
//   C5: out_dtype is floating if the data is.
//   C6: weight has the data's rank, the data's dtype (or both are integers and out_dtype is given),
//       the channels of a group, and what channels and kernel_size say.
//   C7: the window fits into the padded data.
//
// o is in group g = o // (O / groups), which sees I = c / groups channels. Outside of the data
// there are zeros. Integers are multiplied and summed in the result's dtype, float16 and
// bfloat16 in float32.
#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/convolution.h"
#include "op/nn/fit.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

template <class A>
Type relate(Relation& r, const A& a) {
  r.require_rank(0, 2 + a.spatial.size());            // C1
  require(r, 0, Domain::kNumber);                     // C1
  const Convolution c = read_convolution(a);          // C2, C3
  const DType result = result_dtype(r, a.out_dtype);  // C5
  const std::vector<Dim> x = c.data.extents(r.tensor(0).dims);
  const Dim within = whole_groups(r, x[1], c.groups, 0, "input channels");           // C4
  const std::vector<Dim> w = relate_weight(r, a, c, {a.channels, within});           // C6
  whole_groups(r, w[0], c.groups, r.known(1) ? 1 : kAttributes, "output channels");  // C4
  std::vector<Dim> y{x[0], w[0]};
  for (size_t axis = 0; axis < c.axes(); ++axis)
    y.push_back(fitting_windows(r, c.window, axis, x[2 + axis], w[2 + axis]));  // C7
  return r.tensor_of(c.data.shape(y), result);
}

// Sums in T: floating point, or integers that wrap at 64 bits. Goes along the last spatial axis in
// its innermost loop.
template <class T>
std::vector<T> convolve(const Convolution& c, const Tensor& data, const Tensor& weight, const Tensor& result,
                        const std::vector<T>& x, const std::vector<T>& w) {
  std::vector<T> y = work_list<T>(result.size());
  if (result.size() == 0 || weight.size() == 0) return y;
  const auto shape = c.data.extents(data.shape()), out = c.data.extents(result.shape());
  const auto kernel = c.weight.extents(weight.shape());
  const auto xs = strides_of(data.shape(), c.data), ws = strides_of(weight.shape(), c.weight);
  const auto ys = strides_of(result.shape(), c.data);
  const Window& window = c.window;
  const size_t outer = c.axes() - 1, last = 2 + outer;  // the axes before the last one; its place
  const auto taps = indices_of(Shape(kernel.begin() + 2, kernel.end() - 1));
  const auto lines = indices_of(Shape(out.begin() + 2, out.end() - 1));
  std::vector<T> row(static_cast<size_t>(out[last]));
  // Adds what one line of the weight's window makes of one line of the data.
  const auto add_line = [&](const T* from_x, const T* from_w) {
    for (int64_t v = 0; v < kernel[last]; ++v) {
      const T factor = from_w[v * ws[last]];
      for (int64_t left = 0; left < out[last]; ++left) {
        const int64_t from = left * window.stride[outer] + v * window.dilation[outer] - window.before[outer];
        if (from < 0 || from >= shape[last]) continue;
        row[static_cast<size_t>(left)] += factor * from_x[from * xs[last]];
      }
    }
  };
  const auto sum_line = [&](int64_t n, int64_t o, const std::vector<int64_t>& line) {
    const int64_t first = o / (out[1] / c.groups) * kernel[1];  // input channel of the group
    std::fill(row.begin(), row.end(), T(0));
    for (int64_t i = 0; i < kernel[1]; ++i) {
      for (const std::vector<int64_t>& tap : taps) {
        int64_t from_x = n * xs[0] + (first + i) * xs[1], from_w = o * ws[0] + i * ws[1];
        bool inside = true;
        for (size_t axis = 0; axis < outer && inside; ++axis) {
          const int64_t from =
              line[axis] * window.stride[axis] + tap[axis] * window.dilation[axis] - window.before[axis];
          inside = from >= 0 && from < shape[2 + axis];
          from_x += from * xs[2 + axis];
          from_w += tap[axis] * ws[2 + axis];
        }
        if (inside) add_line(x.data() + from_x, w.data() + from_w);
      }
    }
  };
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (const std::vector<int64_t>& line : lines) {
        sum_line(n, o, line);
        int64_t to = n * ys[0] + o * ys[1];
        for (size_t axis = 0; axis < outer; ++axis) to += line[axis] * ys[2 + axis];
        for (const T& sum : row) {
          y[static_cast<size_t>(to)] = sum;
          to += ys[last];
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
                    [&](const auto& x, const auto& w) { return convolve(c, in[0], in[1], out[0], x, w); });
}

template <class A>
std::vector<Expr> differentiate(Builder& b, const A& a, const Site& s) {
  const Convolution c = read_convolution(a);
  const DType d = s.tensor(0).dtype;
  const std::vector<Dim> x = c.data.extents(s.tensor(0).dims), w = c.weight.extents(s.tensor(1).dims);
  const Expr data = canonical(b, s.args[0], c.data, d), weight = canonical(b, s.args[1], c.weight, d);
  const Expr dy = canonical(b, s.dy, c.data, d);
  const Expr dx = data_gradient(b, dy, weight, c.window, c.groups, std::span(x).subspan(2));
  const Expr dw = weight_gradient(b, data, dy, c.window, c.groups, std::span(w).subspan(2));
  return {from_canonical(b, dx, c.data, d), from_canonical(b, dw, c.weight, s.tensor(1).dtype)};
}

template <class A>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const A& a, const Lowering& l) {
  const Convolution c = read_convolution(a);
  kernel::Tensor x = l.in[0];
  const kernel::Tensor& w = l.in[1];
  if (c.window.pads()) {
    x = padded(k, x, c.data, c.window.before, padded_extents(x, c.data, c.window), k.constant(x.dtype(), 0));
  }
  const std::vector<kernel::Expr> kernel_dims = c.weight.extents(w.shape());
  const std::vector<kernel::Expr> out = c.data.extents(l.shape());
  const kernel::Expr within = kernel_dims[1];
  const bool one_channel = within.is_int(1);  // depthwise, or an image of one channel
  const std::vector<kernel::Expr> extents(kernel_dims.begin() + (one_channel ? 2 : 1), kernel_dims.end());
  const size_t first_tap = one_channel ? 0 : 1;

  const std::string name = cat("conv", c.axes(), "d");
  const DType sum = sum_dtype(x.dtype(), l.dtype());
  const kernel::Tensor y =
      k.reduce(name, sum, l.shape(), extents, k.sum(sum), [&](kernel::Indices i, kernel::Indices r) {
        const std::vector<kernel::Expr> at = c.data.coordinates(i);
        const kernel::Expr channel = one_channel ? k.index(0) : r[0];
        kernel::Expr from = channel;
        if (c.groups != 1) from = from + floor_div(at[1], floor_div(out[1], c.groups)) * within;
        std::vector<kernel::Expr> from_x{at[0], from}, from_w{at[1], channel};
        for (size_t axis = 0; axis < c.axes(); ++axis) {
          const kernel::Expr tap = r[first_tap + axis];
          from_x.push_back(at[2 + axis] * c.window.stride[axis] + tap * c.window.dilation[axis]);
          from_w.push_back(tap);
        }
        return cast(sum, x.at(c.data.index(from_x))) * cast(sum, w.at(c.weight.index(from_w)));
      });
  if (sum == l.dtype()) return {y};
  return {k.compute(cat(name, "_end"), l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

// The number of products in each sum.
template <class A>
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const Convolution c = read_convolution(read_attrs<A>(attrs));
  const std::vector<Dim> w = c.weight.extents(args[1]->as<TensorType>()->dims);
  return constant_part(std::span(w).subspan(1));
}

}  // namespace

const OpDef kConv2d = define<ConvolutionAttrs>({
    .name = "nn.conv2d",
    .doc = "Convolution over images: each output channel weighs the neighbourhoods of the input channels.",
    .params = {{"data", "a batch of images"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<ConvolutionAttrs>},
    .refines = {1},
    .relate = relate<ConvolutionAttrs>,
    .evaluate = evaluate<ConvolutionAttrs>,
    .differentiate = differentiate<ConvolutionAttrs>,
    .lower = lower<ConvolutionAttrs>,
});

const OpDef kConv3d = define<Conv3dAttrs>({
    .name = "nn.conv3d",
    .doc = "Convolution over volumes: each output channel weighs the neighbourhoods of the input channels.",
    .params = {{"data", "a batch of volumes"}, {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<Conv3dAttrs>},
    .refines = {1},
    .relate = relate<Conv3dAttrs>,
    .evaluate = evaluate<Conv3dAttrs>,
    .differentiate = differentiate<Conv3dAttrs>,
    .lower = lower<Conv3dAttrs>,
});

}  // namespace relay::op
