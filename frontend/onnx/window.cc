#include "frontend/onnx/window.h"

#include <algorithm>

#include "base/cat.h"

namespace relay::frontend {
namespace {

constexpr int64_t kLargest = 1 << 24;  // of a stride, a dilation or a pad: sums of their products fit 64 bits

std::vector<int64_t> numbers(Node& n, std::string_view name, size_t count, int64_t otherwise, int64_t least) {
  std::vector<int64_t> out = n.integers(name, std::vector<int64_t>(count, otherwise));
  if (out.size() != count)
    n.invalid(cat("its attribute `", name, "` has ", out.size(), " numbers, not ", count));
  for (int64_t v : out) {
    if (v < least || v > kLargest)
      n.invalid(cat("its attribute `", name, "` holds ", v, ", which is out of range"));
  }
  return out;
}

}  // namespace

std::vector<int64_t> Window::both(std::vector<int64_t> values, int64_t neutral) const {
  if (axes == 1) values.insert(values.begin(), neutral);
  return values;
}

std::vector<int64_t> Window::padding() const {
  std::vector<int64_t> out = both(begin, 0);
  const std::vector<int64_t> after = both(end, 0);
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

Window read_window(Node& n, size_t rank, std::vector<int64_t> kernel) {
  Window w;
  if (rank < 3)
    n.invalid(cat("its input has ", rank, " dimensions and needs batch, channels and at least one more"));
  w.axes = rank - 2;
  if (w.axes > 3) {
    n.unsupported(cat("it has ", w.axes, " spatial axes; one to three are supported"));
  }
  if (kernel.empty()) {
    if (!n.attribute("kernel_shape")) n.invalid("its attribute `kernel_shape` is missing");
    w.kernel = numbers(n, "kernel_shape", w.axes, 1, 1);
  } else {
    w.kernel = std::move(kernel);
    for (const int64_t v : w.kernel) {
      if (v > kLargest) n.unsupported(cat("a window of ", v, " elements along an axis is not supported"));
    }
    if (numbers(n, "kernel_shape", w.axes, 1, 1) != w.kernel && n.attribute("kernel_shape")) {
      n.invalid("its attribute `kernel_shape` contradicts the shape of its weight");
    }
  }
  w.strides = numbers(n, "strides", w.axes, 1, 1);
  w.dilations = numbers(n, "dilations", w.axes, 1, 1);
  w.ceil_mode = n.integer("ceil_mode", 0) != 0;
  const std::string form = n.text("auto_pad", "NOTSET");
  if (form == "NOTSET" || form.empty()) {
    const std::vector<int64_t> pads = numbers(n, "pads", 2 * w.axes, 0, -kLargest);
    if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; }))
      n.unsupported("negative padding is not supported");
    w.begin.assign(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(w.axes));
    w.end.assign(pads.begin() + static_cast<ptrdiff_t>(w.axes), pads.end());
  } else if (form == "VALID") {
    w.begin.assign(w.axes, 0);
    w.end.assign(w.axes, 0);
  } else if (form != "SAME_UPPER" && form != "SAME_LOWER") {
    n.invalid("its attribute `auto_pad` is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER");
  }
  if (form != "NOTSET" && !form.empty()) {
    // Some exporters write zeros beside it.
    const std::vector<int64_t> pads = n.integers("pads");
    if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; }))
      n.invalid("its attributes `auto_pad` and `pads` contradict each other");
  }
  return w;
}

void pad_to_same(Node& n, Window& w, const TensorType& x, bool upper) {
  for (size_t i = 0; i < w.axes; ++i) {
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1, stride = w.strides[i];
    const Dim extent = x.dims[i + 2];
    int64_t total = std::max<int64_t>(0, reach - stride);
    if (extent.is_const()) {
      // The last window begins so many elements before the end. Extents may be of any size.
      const int64_t rest = extent.value() % stride, last = rest == 0 ? stride : rest;
      total = std::max<int64_t>(0, reach - last);
    } else if (stride != 1) {
      n.unsupported(cat("auto_pad with a stride of ", stride, " needs an extent that is known"),
                    "fix the dynamic axis with --input-shapes");
    }
    const int64_t less = total / 2, more = total - less;
    w.begin.push_back(upper ? less : more);
    w.end.push_back(upper ? more : less);
  }
}

Expr as_image(Node& n, Expr e, const Window& w) { return w.axes == 1 ? n.expand_dims(e, 2) : e; }
Expr as_line(Node& n, Expr e, const Window& w) { return w.axes == 1 ? n.squeeze(e, {2}) : e; }

Expr with_channels(Node& n, Expr x, bool to_front) {
  const auto rank = static_cast<int64_t>(type_of(x).rank());
  n.require(rank >= 3, "its input needs batch, channels and at least one more axis");
  std::vector<int64_t> order{0};
  if (to_front) order.push_back(rank - 1);
  for (int64_t axis = to_front ? 1 : 2; axis < (to_front ? rank - 1 : rank); ++axis) order.push_back(axis);
  if (!to_front) order.push_back(1);
  return n.transpose(x, order);
}

}  // namespace relay::frontend
