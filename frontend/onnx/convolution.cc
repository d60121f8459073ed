// Conv, ConvTranspose and their relatives on integers.
#include "base/cat.h"
#include "frontend/onnx/quantised.h"
#include "frontend/onnx/window.h"

namespace relay::frontend {
namespace {

using namespace op;

// The extents of the window, from the weight.
std::vector<int64_t> kernel_of(Node& n, size_t i) {
  const TensorType& w = n.tensor(i);
  std::vector<int64_t> out;
  for (size_t d = 2; d < w.rank(); ++d) {
    if (!w.dims[d].is_const()) n.unsupported("the shape of its weight must be known");
    if (w.dims[d].value() < 1) n.invalid("its weight is empty");
    out.push_back(w.dims[d].value());
  }
  return out;
}

Window window_of(Node& n, size_t weight = 1) {
  Window w = read_window(n, n.rank(0), kernel_of(n, weight));
  n.require(n.rank(weight) == n.rank(0), "its weight has another number of dimensions than its input");
  return w;
}

// A bias for each channel, added along axis 1.
Expr with_bias(Node& n, Expr y, size_t i) {
  if (!n.has(i)) return y;
  n.require(n.rank(i) == 1, "its bias must have one dimension");
  return n.call(kBiasAdd, {y, n.input(i)}, {{"axis", int64_t{1}}});
}

int64_t groups_of(Node& n) {
  const int64_t groups = n.integer("group", 1);
  n.require(groups >= 1 && groups < (1 << 24), "its attribute `group` is out of range");
  return groups;
}

// A convolution of the data and the weight, which come first; it may take more arguments.
Expr convolve(Node& n, const OpDef& op, std::vector<Expr> args, Window& w,
              const std::vector<AttrArg>& more = {}) {
  const std::string form = n.text("auto_pad", "NOTSET");
  if (w.begin.empty()) pad_to_same(n, w, type_of(args[0]), form == "SAME_UPPER");
  const Dim channels = type_of(args[1]).dims[0];
  std::vector<AttrArg> attrs{{"strides", w.both(w.strides, 1)},
                             {"padding", w.padding()},
                             {"dilation", w.both(w.dilations, 1)},
                             {"groups", groups_of(n)},
                             {"kernel_size", w.both(w.kernel, 1)}};
  if (channels.is_const()) attrs.push_back({"channels", channels.value()});
  attrs.insert(attrs.end(), more.begin(), more.end());
  for (const size_t i : {0, 1}) args[i] = as_image(n, args[i], w);
  return n.call(op, args, attrs);
}

Results convolution(Node& n) {
  Window w = window_of(n);
  const Expr y = convolve(n, w.over(kConv2d, kConv3d), {n.input(0), n.input(1)}, w);
  return {as_line(n, with_bias(n, y, 2), w)};
}

Expr without_zero_point(Node& n, size_t value, size_t zero_point, bool per_channel) {
  const Expr x = n.cast(n.input(value), kInt32);
  if (!n.has(zero_point)) return x;
  Expr zero = n.cast(n.input(zero_point), kInt32);
  const TensorType& t = type_of(zero);
  if (t.rank() == 1 && per_channel)
    zero = n.expand_dims(zero, 1, static_cast<int64_t>(type_of(x).rank()) - 1);
  if (t.rank() > 1) n.invalid("its zero points must have at most one dimension");
  return n.call(kSubtract, {x, zero});
}

Results convolution_of_integers(Node& n) {
  Window w = window_of(n);
  const Expr x = without_zero_point(n, 0, 2, false), weight = without_zero_point(n, 1, 3, true);
  return {as_line(n, convolve(n, w.over(kConv2d, kConv3d), {x, weight}, w, {{"out_dtype", kInt32}}), w)};
}

// A convolution of integers with scales and zero points, of which the weight's may go along the
// output channels. The bias has the scale of the sums.
Results quantised_convolution(Node& n) {
  const bool last = n.integer("channels_last", 0) != 0;
  const Expr x = last ? with_channels(n, n.input(0), true) : n.input(0);
  Window w = window_of(n, 3);
  if (w.axes == 3) n.unsupported("its images have three axes", "quantise with QDQ nodes around Conv");
  const Expr x_scale = parameter_at(n, 1), w_scale = parameter_at(n, 4);
  n.require(type_of(x_scale).rank() == 0, "its input must have one scale");
  Expr sums = convolve(
      n, kQnnConv2d,
      {x, n.input(3), zero_point_at(n, 2, x_scale), zero_point_at(n, 5, w_scale), x_scale, w_scale}, w);
  sums = as_line(n, with_bias(n, sums, 8), w);
  Expr scale = n.call(kMultiply, {x_scale, w_scale});
  if (type_of(scale).rank() == 1)
    scale = n.expand_dims(scale, 1, static_cast<int64_t>(type_of(sums).rank()) - 2);
  const Expr real = n.call(kMultiply, {n.cast(sums, kFloat32), scale});
  const Expr y = quantised(n, real, 6, n.dtype(7));
  return {last ? with_channels(n, y, false) : y};
}

// A transposed convolution makes (in - 1) * stride + reach + output_padding elements, of which the
// padding is cut off.
Results transposed_convolution(Node& n) {
  Window w = window_of(n);
  const TensorType& x = n.tensor(0);
  std::vector<int64_t> more = n.integers("output_padding", std::vector<int64_t>(w.axes, 0));
  n.require(more.size() == w.axes,
            "its attribute `output_padding` has another length than there are spatial axes");
  for (size_t i = 0; i < w.axes; ++i) {
    n.require(more[i] >= 0 && more[i] < std::max(w.strides[i], w.dilations[i]),
              "its attribute `output_padding` is out of range");
  }
  const std::vector<int64_t> wanted = n.integers("output_shape");
  const std::string form = n.text("auto_pad", "NOTSET");
  if (!wanted.empty() || w.begin.empty()) {
    // The padding follows from the shape that the result shall have.
    std::vector<int64_t> shape = wanted;
    if (shape.size() == w.axes + 2) shape.erase(shape.begin(), shape.begin() + 2);
    n.require(wanted.empty() || shape.size() == w.axes, "its attribute `output_shape` has a wrong length");
    w.begin.clear();
    w.end.clear();
    for (size_t i = 0; i < w.axes; ++i) {
      const Dim extent = x.dims[i + 2];
      const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
      int64_t total = reach + more[i] - w.strides[i];  // for a result of in * stride
      if (!wanted.empty()) {
        if (!extent.is_const())
          n.unsupported("its attribute `output_shape` needs an extent that is known",
                        "fix the dynamic axis with --input-shapes");
        n.require(shape[i] > 0 && shape[i] < (int64_t{1} << 31) && extent.value() < (int64_t{1} << 31),
                  "its attribute `output_shape` is out of range");
        total = (extent.value() - 1) * w.strides[i] + reach + more[i] - shape[i];
      }
      if (total < 0) {  // nothing to cut off: the result is made longer
        more[i] -= total;
        total = 0;
        if (more[i] >= w.strides[i])
          n.unsupported("a result that is longer than what its window reaches is not supported");
      }
      const int64_t less = total / 2, rest = total - less;
      const bool upper = form == "SAME_UPPER";
      w.begin.push_back(upper ? less : rest);
      w.end.push_back(upper ? rest : less);
    }
  }
  const int64_t groups = groups_of(n);
  const TensorType& weight = n.tensor(1);
  std::vector<AttrArg> attrs{
      {"strides", w.both(w.strides, 1)},    {"padding", w.padding()}, {"output_padding", w.both(more, 0)},
      {"dilation", w.both(w.dilations, 1)}, {"groups", groups},       {"kernel_size", w.both(w.kernel, 1)}};
  if (weight.dims[1].is_const()) {
    const Dim channels = weight.dims[1] * Dim(groups);
    n.require(channels.is_const(), "its attribute `group` is out of range");
    attrs.push_back({"channels", channels.value()});
  }
  const OpDef& op = w.over(kConv2dTranspose, kConv3dTranspose);
  const Expr y = n.call(op, {as_image(n, n.input(0), w), as_image(n, n.input(1), w)}, attrs);
  return {as_line(n, with_bias(n, y, 2), w)};
}

// With a mask, each element of each window is weighed before it is summed. One deformable
// convolution takes the windows apart: a channel for each element. The weight then sums them.
Expr masked_deformable_convolution(Node& n, const Window& w, int64_t offset_groups) {
  const TensorType &x = n.tensor(0), &weight = n.tensor(1);
  for (size_t d = 0; d < 2; ++d) {
    if (!x.dims[1].is_const() || !weight.dims[d].is_const())
      n.unsupported("with a mask, the number of its channels must be known");
  }
  constexpr int64_t kMostChannels = 1 << 14, kMostElements = 1 << 7;  // their tensor has 2^28 elements
  const int64_t channels = x.dims[1].value(), groups = groups_of(n);
  const bool small = w.kernel[0] <= kMostElements && w.kernel[1] <= kMostElements / w.kernel[0];
  if (channels < 1 || channels > kMostChannels || !small)
    n.unsupported("a mask of so many channels or elements is not supported");
  const int64_t elements = w.kernel[0] * w.kernel[1];
  n.require(channels % groups == 0 && channels % offset_groups == 0 && weight.dims[0].value() % groups == 0,
            "its channels cannot be divided among its groups");
  n.require(n.rank(4) == 4, "its mask must have four dimensions");
  const DType dtype = x.dtype;
  Tensor one(dtype, {channels * elements, 1, w.kernel[0], w.kernel[1]});
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < elements; ++i) one.set((c * elements + i) * elements + i, 1);
  }
  const Expr apart = n.call(kDeformableConv2d, {n.input(0), n.input(2), n.builder().constant(std::move(one))},
                            {{"strides", w.strides},
                             {"padding", w.padding()},
                             {"dilation", w.dilations},
                             {"groups", channels},
                             {"channels", channels * elements},
                             {"kernel_size", w.kernel},
                             {"deformable_groups", offset_groups},
                             {"zero_border", true}});
  const std::vector<Dim> dims = dims_of(apart);
  const auto by_group = [&](Expr e, int64_t rows) {
    return n.reshape(e, {dims[0], Dim(offset_groups), Dim(rows), Dim(elements), dims[2], dims[3]});
  };
  const Expr weighed =
      n.call(kMultiply, {by_group(apart, channels / offset_groups), by_group(n.input(4), 1)});
  const Dim out = weight.dims[0];
  const Expr flat = n.reshape(n.input(1), {out, Dim(channels / groups * elements), Dim(1), Dim(1)});
  return n.call(kConv2d, {n.reshape(weighed, dims), flat},
                {{"groups", groups}, {"channels", out.value()}, {"kernel_size", std::vector<int64_t>{1, 1}}});
}

// The offsets are input 2. What lies beyond the edge of an image is 0, also between it and a pixel.
Results deformable_convolution(Node& n) {
  n.require(n.rank(0) >= 3, "its input needs batch, channels and spatial axes");
  if (n.rank(0) != 4) n.unsupported(cat("it has ", n.rank(0) - 2, " spatial axes; two are supported"));
  const Window w = window_of(n);
  n.require(!w.begin.empty(), "its attribute `auto_pad` does not exist");
  const int64_t offset_groups = n.integer("offset_group", 1);
  n.require(offset_groups >= 1 && offset_groups < (1 << 24), "its attribute `offset_group` is out of range");
  n.require(n.rank(2) == 4, "its offset must have four dimensions");
  if (n.has(4)) return {with_bias(n, masked_deformable_convolution(n, w, offset_groups), 3)};
  const Expr y = n.call(kDeformableConv2d, {n.input(0), n.input(2), n.input(1)},
                        {{"strides", w.strides},
                         {"padding", w.padding()},
                         {"dilation", w.dilations},
                         {"groups", groups_of(n)},
                         {"kernel_size", w.kernel},
                         {"deformable_groups", offset_groups},
                         {"zero_border", true}});
  return {with_bias(n, y, 3)};
}

constexpr Row kRows[] = {
    {"Conv", 1, convolution, "more than 3 spatial axes, negative pads"},
    {"ConvInteger", 10, convolution_of_integers, "more than 3 spatial axes, negative pads"},
    {"ConvTranspose", 1, transposed_convolution,
     "more than 3 spatial axes, an output_shape beyond what the window reaches"},
    {"DeformConv", 19, deformable_convolution, "other than 2 spatial axes"},
    {"QLinearConv", 10, quantised_convolution, "3 spatial axes"},
    {"com.microsoft.QLinearConv", 1, quantised_convolution},
};

}  // namespace

std::span<const Row> convolution_rows() { return kRows; }

}  // namespace relay::frontend
