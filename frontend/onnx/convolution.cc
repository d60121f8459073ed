// Conv, ConvTranspose and their relatives on integers.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/quantised.h"
#include "frontend/onnx/window.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// The extents of the window, from the weight. Where they are open, the attribute says them, and the
// operator's own relation compares. Empty if there is no attribute either.
std::vector<int64_t> kernel_of(Node& n, size_t i) {
  const TensorType& w = n.tensor(i);
  const std::vector<int64_t> given = n.integers("kernel_shape");
  std::vector<int64_t> out;
  for (size_t d = 2; d < w.rank(); ++d) {
    const bool is_open = !w.dims[d].is_const();
    if (is_open && given.size() + 2 != w.rank()) {
      n.require(given.empty(), "its attribute `kernel_shape` has another length than there are spatial axes");
      return {};
    }
    const int64_t extent = is_open ? given[d - 2] : w.dims[d].value();
    if (extent < 1) n.invalid("its weight is empty");
    out.push_back(extent);
  }
  return out;
}

Window window_of(Node& n, size_t weight = 1) {
  n.require(n.rank(weight) == n.rank(0), "its weight has another number of dimensions than its input");
  std::vector<int64_t> kernel = kernel_of(n, weight);
  if (!kernel.empty()) return read_window(n, n.rank(0), std::move(kernel));
  const std::span<const Dim> dims = n.tensor(weight).dims;
  return read_open_window(n, n.rank(0), {dims.begin() + std::min<size_t>(2, dims.size()), dims.end()});
}

void add_kernel_size(std::vector<AttrArg>& attrs, const Window& w) {
  if (!w.kernel.empty()) attrs.push_back({"kernel_size", w.both(w.kernel, 1)});
}

// A bias for each channel, added along axis 1.
Expr with_bias(Node& n, Expr y, size_t i) {
  if (!n.has(i)) return y;
  n.require(n.rank(i) == 1, "its bias must have one dimension");
  return n.call(kBiasAdd, {y, n.input(i)}, {{"axis", int64_t{1}}});
}

// Where only a run tells, the run divides.
bool divides(int64_t parts, Dim d) { return !d.is_const() || d.value() % parts == 0; }

int64_t groups_of(Node& n) {
  const int64_t groups = n.integer("group", 1);
  n.require(groups >= 1 && groups < (1 << 24), "its attribute `group` is out of range");
  return groups;
}

// A convolution of the data and the weight, which come first; it may take more arguments. `outside`
// stands where the data are padded by what only a run knows; null: zeros.
Expr convolve(Node& n, const OpDef& op, std::vector<Expr> args, Window& w,
              const std::vector<AttrArg>& more = {}, Expr outside = nullptr) {
  const DType dtype = type_of(args[0]).dtype;
  settle_padding(n, w, type_of(args[0]));
  args[0] = with_room(n, w, args[0], outside ? outside : n.scalar(dtype, 0));
  const Dim channels = type_of(args[1]).dims[0];
  std::vector<AttrArg> attrs{{"strides", w.both(w.strides, 1)},
                             {"padding", w.padding()},
                             {"dilation", w.both(w.dilations, 1)},
                             {"groups", groups_of(n)}};
  add_kernel_size(attrs, w);
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
  const Expr zero = zero_point_at(n, 2, x_scale);
  Expr sums = convolve(n, kQnnConv2d, {x, n.input(3), zero, zero_point_at(n, 5, w_scale), x_scale, w_scale},
                       w, {}, zero);
  sums = as_line(n, with_bias(n, sums, 8), w);
  Expr scale = n.call(kMultiply, {x_scale, w_scale});
  if (type_of(scale).rank() == 1)
    scale = n.expand_dims(scale, 1, static_cast<int64_t>(type_of(sums).rank()) - 2);
  const Expr real = n.call(kMultiply, {n.cast(sums, kFloat32), scale});
  const Expr y = quantised(n, real, 6, n.dtype(7));
  return {last ? with_channels(n, y, false) : y};
}

// How a transposed convolution ends along one axis. Its windows make (in - 1) * stride + reach
// elements. `more` zeros come behind them, then `begin` and `end` elements are cut off; negative
// ones are more zeros.
struct Trim {
  Dim begin, end, more;

  // Can the attributes of the operator say it?
  bool fits(int64_t stride) const {
    return begin.is_const() && begin.value() >= 0 && end.is_const() && end.value() >= 0 && more.is_const() &&
           more.value() >= 0 && more.value() < stride;
  }
};

// Trims so that the result has `wanted` elements, or in * stride if that is unknown. Where there is
// nothing to cut off, the result gets zeros behind.
Trim trim_to(Node& n, const Window& w, size_t i, Dim extent, int64_t more, Dim wanted, bool upper) {
  const Dim stride(w.strides[i]);
  const Dim total = wanted.is_unknown() ? w.reach(i) + Dim(more) - stride
                                        : (extent - Dim(1)) * stride + w.reach(i) + Dim(more) - wanted;
  if (total.is_unknown())
    n.unsupported("its padding follows from extents that depend on the data, or are out of range",
                  "fix the dynamic axes with --input-shapes");
  const Dim cut = clamp_to_zero(total), less = floor_div(cut, Dim(2)), rest = cut - less;
  return {upper ? less : rest, upper ? rest : less, Dim(more) + clamp_to_zero(Dim(0) - total)};
}

std::vector<Trim> trims_of(Node& n, const Window& w) {
  const TensorType& x = n.tensor(0);
  const std::vector<int64_t> more = n.integers("output_padding", std::vector<int64_t>(w.axes, 0));
  n.require(more.size() == w.axes,
            "its attribute `output_padding` has another length than there are spatial axes");
  for (size_t i = 0; i < w.axes; ++i) {
    n.require(more[i] >= 0 && more[i] < std::max(w.strides[i], w.dilations[i]),
              "its attribute `output_padding` is out of range");
  }
  std::vector<int64_t> shape = n.integers("output_shape");
  if (shape.size() == w.axes + 2) shape.erase(shape.begin(), shape.begin() + 2);
  n.require(shape.empty() || shape.size() == w.axes, "its attribute `output_shape` has a wrong length");
  const bool upper = n.text("auto_pad", "NOTSET") == "SAME_UPPER";
  std::vector<Trim> out;
  for (size_t i = 0; i < w.axes; ++i) {
    const Dim extent = x.dims[i + 2];
    if (shape.empty() && !w.begin.empty()) {
      const auto [before, behind] = w.room.empty() ? std::pair(Dim(0), Dim(0)) : w.room[i];
      out.push_back({Dim(w.begin[i]) + before, Dim(w.end[i]) + behind, Dim(more[i])});
      continue;
    }
    constexpr int64_t kMost = int64_t{1} << 31;
    n.require(
        shape.empty() || (shape[i] > 0 && shape[i] < kMost && (!extent.is_const() || extent.value() < kMost)),
        "its attribute `output_shape` is out of range");
    out.push_back(trim_to(n, w, i, extent, more[i], shape.empty() ? Dim::unknown() : Dim(shape[i]), upper));
  }
  return out;
}

// y, whose spatial axes are as the windows made them, with these trims.
Expr trimmed(Node& n, Expr y, const std::vector<Trim>& trims) {
  std::vector<std::pair<Dim, Dim>> width(type_of(y).rank(), {Dim(0), Dim(0)});
  for (size_t i = 0; i < trims.size(); ++i) {
    const auto added = [](Dim end) { return end.is_const() ? max(Dim(0) - end, Dim(0)) : Dim(0); };
    width[i + 2] = {added(trims[i].begin), trims[i].more + added(trims[i].end)};
  }
  std::vector<Dim> wanted(width.size(), Dim::unknown());
  for (size_t i = 0; i < trims.size(); ++i) {
    const Trim& t = trims[i];
    wanted[i + 2] = type_of(y).dims[i + 2] + t.more - t.begin - t.end;
    n.require(!wanted[i + 2].is_const() || wanted[i + 2].value() > 0, "its padding cuts off all elements");
  }
  y = zero_padded(n.builder(), y, width);
  for (size_t i = 0; i < trims.size(); ++i) {
    const Dim begin = trims[i].begin.is_const() ? max(trims[i].begin, Dim(0)) : trims[i].begin;
    const Dim end = trims[i].end.is_const() ? max(trims[i].end, Dim(0)) : trims[i].end;
    if (begin != Dim(0) || end != Dim(0))
      y = sliced(n.builder(), y, static_cast<int64_t>(i + 2), begin, type_of(y).dims[i + 2] - end);
  }
  return n.importer().match_extents(y, wanted, "trimmed");
}

// The bias is input `bias`.
Results transposed_convolution(Node& n, const Window& w, const std::vector<Trim>& trims, size_t bias) {
  bool fits = true;
  for (size_t i = 0; i < w.axes; ++i) fits &= trims[i].fits(w.strides[i]);
  std::vector<int64_t> begin(w.axes, 0), end(w.axes, 0), more(w.axes, 0);
  for (size_t i = 0; fits && i < w.axes; ++i) {
    begin[i] = trims[i].begin.value();
    end[i] = trims[i].end.value();
    more[i] = trims[i].more.value();
  }
  Window of_operator = w;
  of_operator.begin = begin, of_operator.end = end;
  const int64_t groups = groups_of(n);
  const TensorType& weight = n.tensor(1);
  std::vector<AttrArg> attrs{{"strides", w.both(w.strides, 1)},
                             {"padding", of_operator.padding()},
                             {"output_padding", w.both(more, 0)},
                             {"dilation", w.both(w.dilations, 1)},
                             {"groups", groups}};
  add_kernel_size(attrs, w);
  if (weight.dims[1].is_const()) {
    const Dim channels = weight.dims[1] * Dim(groups);
    n.require(channels.is_const(), "its attribute `group` is out of range");
    attrs.push_back({"channels", channels.value()});
  }
  const OpDef& op = w.over(kConv2dTranspose, kConv3dTranspose);
  Expr y = as_line(n, n.call(op, {as_image(n, n.input(0), w), as_image(n, n.input(1), w)}, attrs), w);
  if (!fits) y = trimmed(n, y, trims);
  return {with_bias(n, y, bias)};
}

Results transposed_convolution(Node& n) {
  const Window w = window_of(n);
  return transposed_convolution(n, w, trims_of(n, w), 2);
}

// The same with pads that are input 2: those before the axes, then those behind them. A run traps
// if one is negative.
Results transposed_convolution_of_padding(Node& n) {
  const Window w = window_of(n);
  std::vector<Trim> trims = trims_of(n, w);
  if (n.has(2)) {
    n.require(!w.begin.empty(), "it has pads, and its attribute `auto_pad` decides them too");
    const std::vector<Dim> pads = extents_at(n, 2, "pads", 2 * w.axes);
    for (size_t i = 0; i < w.axes; ++i) trims[i].begin = pads[i], trims[i].end = pads[w.axes + i];
  }
  return transposed_convolution(n, w, trims, 3);
}

// With a mask, each element of each window is weighed before it is summed. One deformable
// convolution takes the windows apart: each channel is an image, and there is a channel for each
// element. The weight then sums them.
Expr masked_deformable_convolution(Node& n, const Window& w, int64_t offset_groups) {
  constexpr int64_t kMostElements = 1 << 7;
  if (w.kernel[0] > kMostElements || w.kernel[1] > kMostElements / w.kernel[0])
    n.unsupported("a mask for a window of so many elements is not supported");
  const int64_t elements = w.kernel[0] * w.kernel[1], groups = groups_of(n);
  const std::vector<Dim> x = dims_of(n.input(0)), offset = dims_of(n.input(2));
  const Dim channels = x[1], out = n.tensor(1).dims[0];
  n.require(divides(groups, channels) && divides(offset_groups, channels) && divides(groups, out),
            "its channels cannot be divided among its groups");
  n.require(n.rank(4) == 4, "its mask must have four dimensions");
  for (const Dim d : {x[0], channels, offset[2], offset[3]}) {
    if (d.is_unknown())
      n.unsupported("with a mask, the shapes of its inputs must not depend on the data",
                    "fix the dynamic axes with --input-shapes");
  }
  Tensor one(n.dtype(0), {elements, 1, w.kernel[0], w.kernel[1]});
  for (int64_t i = 0; i < elements; ++i) one.set(i * elements + i, 1);
  // The channels of a group share its offsets.
  const Dim own = floor_div(channels, Dim(offset_groups)), images = x[0] * channels;
  const std::vector<Dim> of_groups{x[0], Dim(offset_groups), Dim(1), Dim(2 * elements), offset[2], offset[3]};
  std::vector<Dim> of_channels = of_groups;
  of_channels[2] = own;
  const Expr each = n.call(kBroadcastTo, {n.reshape(n.input(2), of_groups)}, {{"shape", of_channels}});
  const Expr apart = n.call(kDeformableConv2d,
                            {n.reshape(n.input(0), {images, Dim(1), x[2], x[3]}),
                             n.reshape(each, {images, Dim(2 * elements), offset[2], offset[3]}),
                             n.builder().constant(std::move(one))},
                            {{"strides", w.strides},
                             {"padding", w.padding()},
                             {"dilation", w.dilations},
                             {"channels", elements},
                             {"kernel_size", w.kernel},
                             {"zero_border", true}});
  const std::vector<Dim> dims = dims_of(apart);
  const auto by_group = [&](Expr e, Dim rows) {
    return n.reshape(e, {x[0], Dim(offset_groups), rows, Dim(elements), dims[2], dims[3]});
  };
  const Expr weighed = n.call(kMultiply, {by_group(apart, own), by_group(n.input(4), Dim(1))});
  const Expr flat = n.reshape(n.input(1), {out, n.tensor(1).dims[1] * Dim(elements), Dim(1), Dim(1)});
  std::vector<AttrArg> attrs{{"groups", groups}, {"kernel_size", std::vector<int64_t>{1, 1}}};
  if (out.is_const()) attrs.push_back({"channels", out.value()});
  return n.call(kConv2d, {n.reshape(weighed, {x[0], channels * Dim(elements), dims[2], dims[3]}), flat},
                attrs);
}

// The offsets are input 2. What lies beyond the edge of an image is 0, also between it and a pixel.
Results deformable_convolution(Node& n) {
  n.require(n.rank(0) >= 3, "its input needs batch, channels and spatial axes");
  if (n.rank(0) != 4) n.unsupported(cat("it has ", n.rank(0) - 2, " spatial axes; two are supported"));
  const Window w = window_of(n);
  n.require(!w.begin.empty(), "its attribute `auto_pad` does not exist");
  if (!w.room.empty()) n.unsupported("negative padding is not supported");
  if (w.kernel.empty())
    n.unsupported("the shape of its weight must be known", "give the node its `kernel_shape`");
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
    {"Conv", 1, convolution, "more than 3 spatial axes"},
    {"ConvInteger", 10, convolution_of_integers, "more than 3 spatial axes"},
    {"ConvTranspose", 1, transposed_convolution, "more than 3 spatial axes"},
    {"DeformConv", 19, deformable_convolution, "other than 2 spatial axes, negative pads"},
    {"QLinearConv", 10, quantised_convolution, "3 spatial axes"},
    {"com.microsoft.ConvTransposeWithDynamicPads", 1, transposed_convolution_of_padding,
     "more than 3 spatial axes"},
    {"com.microsoft.QLinearConv", 1, quantised_convolution},
};

}  // namespace

std::span<const Row> convolution_rows() { return kRows; }

}  // namespace relay::frontend
