// Pooling: over windows, and over all spatial axes.
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/window.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

Results pool(Node& n, const OpDef& images, const OpDef& volumes, std::vector<AttrArg> more) {
  Window w = read_window(n, n.rank(0), {});
  if (w.begin.empty()) pad_to_same(n, w, n.tensor(0), n.text("auto_pad", "") == "SAME_UPPER");
  std::vector<AttrArg> attrs{{"pool_size", w.both(w.kernel, 1)},
                             {"strides", w.both(w.strides, 1)},
                             {"dilation", w.both(w.dilations, 1)},
                             {"padding", w.padding()},
                             {"ceil_mode", w.ceil_mode}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return {as_line(n, n.call(w.over(images, volumes), {as_image(n, n.input(0), w)}, attrs), w)};
}

Results max_pool(Node& n) {
  if (n.integer("storage_order", 0) != 0) n.unsupported("storage_order=1 is not supported");
  if (n.wants(1)) n.unsupported("its second result, the indices, is not supported");
  return pool(n, kMaxPool2d, kMaxPool3d, {});
}

Results average_pool(Node& n) {
  return pool(n, kAvgPool2d, kAvgPool3d, {{"count_include_pad", n.integer("count_include_pad", 0) != 0}});
}

// (sum |x|^p)^(1/p) over the window: an average of powers, times the size of the window.
Results lp_pool(Node& n) {
  const double p = n.opset() < 2 ? n.real("p", 2) : static_cast<double>(n.integer("p", 2));
  n.require(p >= 1 && p <= 64, "its attribute `p` is out of range");
  Window w = read_window(n, n.rank(0), {});
  if (w.begin.empty()) pad_to_same(n, w, n.tensor(0), n.text("auto_pad", "") == "SAME_UPPER");
  const DType dtype = n.dtype(0);
  const Expr power = n.call(kPower, {n.call(kAbs, {n.input(0)}), n.scalar(dtype, p)});
  const Expr mean = n.call(w.over(kAvgPool2d, kAvgPool3d), {as_image(n, power, w)},
                           {{"pool_size", w.both(w.kernel, 1)},
                            {"strides", w.both(w.strides, 1)},
                            {"dilation", w.both(w.dilations, 1)},
                            {"padding", w.padding()},
                            {"ceil_mode", w.ceil_mode},
                            {"count_include_pad", true}});
  if (w.ceil_mode) n.unsupported("ceil_mode=1 is not supported here");
  double size = 1;
  for (int64_t k : w.kernel) size *= static_cast<double>(k);
  const Expr sum = n.call(kMultiply, {mean, n.scalar(dtype, size)});
  return {as_line(n, n.call(kPower, {sum, n.scalar(dtype, 1.0 / p)}), w)};
}

// The same over all of each channel.
Results global_lp_pool(Node& n) {
  const double p = n.opset() < 2 ? n.real("p", 2) : static_cast<double>(n.integer("p", 2));
  n.require(p > 0 && p <= 64, "its attribute `p` is out of range");
  const Expr x = n.input(0);
  const size_t rank = type_of(x).rank();
  n.require(rank >= 2, "its input needs batch and channels");
  if (rank == 2) return {n.call(kAbs, {x})};
  std::vector<int64_t> axes;
  for (size_t d = 2; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  const auto number = [&](double v) { return n.scalar(type_of(x).dtype, v); };
  const Expr power = p == 2 ? n.call(kMultiply, {x, x}) : n.call(kPower, {n.call(kAbs, {x}), number(p)});
  const Expr sum = n.call(kSum, {power}, {{"axis", axes}, {"keepdims", true}});
  return {p == 2 ? n.call(kSqrt, {sum}) : n.call(kPower, {sum, number(1 / p)})};
}

// The elements go to the places that input 1 has: indices into the whole of what was pooled. Input
// 2 is a shape that is larger than that, if it is there: then there are zeros behind.
Results max_unpool(Node& n) {
  const Window w = read_window(n, n.rank(0), {});
  n.require(!w.begin.empty(), "its attribute `auto_pad` does not exist");
  const Expr x = n.input(0), places = n.input(1);
  n.require(n.dtype(1) == kInt64 && n.tensor(1).dims == n.tensor(0).dims,
            "its indices must be int64 in the shape of its input");
  std::vector<Dim> shape = dims_of(x);
  if (any_unknown(shape)) n.unsupported("the shape of its input must be known");
  for (size_t i = 0; i < w.axes; ++i)
    shape[2 + i] = (shape[2 + i] - 1) * w.strides[i] + w.kernel[i] - (w.begin[i] + w.end[i]);
  for (const Dim extent : shape) {
    if (extent.is_const()) n.require(extent.value() >= 0, "its padding is larger than what was pooled");
  }
  std::vector<std::pair<Dim, Dim>> more(shape.size(), {Dim(0), Dim(0)});
  if (n.has(2)) {
    const std::vector<int64_t> wanted = n.constant_ints(2, "output_shape");
    n.require(wanted.size() == shape.size(), "its output_shape has another length than its input has dims");
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].is_const()) n.unsupported("with an output_shape, the shape of its input must be known");
      n.require(wanted[d] >= shape[d].value(), "its output_shape is smaller than what was pooled");
      more[d].second = wanted[d] - shape[d].value();
    }
  }
  const Dim count = product(shape), elements = product(dims_of(x));
  const Expr none = n.call(kZeros, {}, {{"shape", std::vector<Dim>{count}}, {"dtype", n.dtype(0)}});
  const Expr all = n.call(kScatterElements, {none, n.reshape(places, {elements}), n.reshape(x, {elements})},
                          {{"axis", int64_t{0}}});
  return {zero_padded(n.builder(), n.reshape(all, shape), more)};
}

// Over all axes behind batch and channels, which stay with extent 1.
template <const OpDef& op>
Results global_pool(Node& n) {
  const size_t rank = n.rank(0);
  n.require(rank >= 3, "its input needs batch, channels and at least one more axis");
  std::vector<int64_t> axes(rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return {n.call(op, {n.input(0)}, {{"axis", axes}, {"keepdims", true}})};
}

Results global_max_pool(Node& n) {
  if (n.rank(0) == 4) return {n.call(kGlobalMaxPool2d, {n.input(0)})};
  return global_pool<kMax>(n);
}

Results global_average_pool(Node& n) {
  if (n.rank(0) == 4) return {n.call(kGlobalAvgPool2d, {n.input(0)})};
  return global_pool<kMean>(n);
}

constexpr Row kRows[] = {
    {"AveragePool", 1, average_pool},
    {"GlobalAveragePool", 1, global_average_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {"GlobalLpPool", 1, global_lp_pool},
    {"LpPool", 1, lp_pool},
    {"MaxPool", 1, max_pool},
    {"MaxUnpool", 9, max_unpool},
};

}  // namespace

std::span<const Row> pooling_rows() { return kRows; }

}  // namespace relay::frontend
