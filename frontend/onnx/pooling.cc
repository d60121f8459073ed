// Pooling: over windows, and over all spatial axes.
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/window.h"

namespace relay::frontend {
namespace {

using namespace op;

Results pool(Node& n, const OpDef& op, std::vector<AttrArg> more) {
  Window w = read_window(n, n.rank(0), {});
  if (w.begin.empty()) pad_to_same(n, w, n.tensor(0), n.text("auto_pad", "") == "SAME_UPPER");
  std::vector<AttrArg> attrs{{"pool_size", w.both(w.kernel, 1)},
                             {"strides", w.both(w.strides, 1)},
                             {"dilation", w.both(w.dilations, 1)},
                             {"padding", w.padding()},
                             {"ceil_mode", w.ceil_mode}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return {as_line(n, n.call(op, {as_image(n, n.input(0), w)}, attrs), w)};
}

Results max_pool(Node& n) {
  if (n.integer("storage_order", 0) != 0) n.unsupported("storage_order=1 is not supported");
  if (n.wants(1)) n.unsupported("its second result, the indices, is not supported");
  return pool(n, kMaxPool2d, {});
}

Results average_pool(Node& n) {
  return pool(n, kAvgPool2d, {{"count_include_pad", n.integer("count_include_pad", 0) != 0}});
}

// (sum |x|^p)^(1/p) over the window: an average of powers, times the size of the window.
Results lp_pool(Node& n) {
  const int64_t p = n.integer("p", 2);
  n.require(p >= 1 && p <= 64, "its attribute `p` is out of range");
  Window w = read_window(n, n.rank(0), {});
  if (w.begin.empty()) pad_to_same(n, w, n.tensor(0), n.text("auto_pad", "") == "SAME_UPPER");
  const DType dtype = n.dtype(0);
  const Expr power = n.call(kPower, {n.call(kAbs, {n.input(0)}), n.scalar(dtype, static_cast<double>(p))});
  const Expr mean = n.call(kAvgPool2d, {as_image(n, power, w)},
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
  return {as_line(n, n.call(kPower, {sum, n.scalar(dtype, 1.0 / static_cast<double>(p))}), w)};
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
    {"AveragePool", 7, average_pool},
    {"GlobalAveragePool", 1, global_average_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {"LpPool", 2, lp_pool},
    {"MaxPool", 1, max_pool},
};

}  // namespace

std::span<const Row> pooling_rows() { return kRows; }

}  // namespace relay::frontend
