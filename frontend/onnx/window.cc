#include "frontend/onnx/window.h"

#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

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

// A window over the spatial axes of an input of this rank, about which nothing else is known yet.
Window unread_window(Node& n, size_t rank) {
  Window w;
  if (rank < 3)
    n.invalid(cat("its input has ", rank, " dimensions and needs batch, channels and at least one more"));
  w.axes = rank - 2;
  if (w.axes > 3) {
    n.unsupported(cat("it has ", w.axes, " spatial axes; one to three are supported"));
  }
  return w;
}

// How the window moves, and over what padding.
void read_way(Node& n, Window& w) {
  w.strides = numbers(n, "strides", w.axes, 1, 1);
  w.dilations = numbers(n, "dilations", w.axes, 1, 1);
  w.ceil_mode = n.integer("ceil_mode", 0) != 0;
  const std::string form = n.text("auto_pad", "NOTSET");
  if (form == "NOTSET" || form.empty()) {
    const std::vector<int64_t> pads = numbers(n, "pads", 2 * w.axes, 0, -kLargest);
    const bool cuts = std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0; });
    for (size_t i = 0; i < w.axes; ++i) {
      const int64_t before = pads[i], behind = pads[w.axes + i];
      w.begin.push_back(std::max<int64_t>(before, 0));
      w.end.push_back(std::max<int64_t>(behind, 0));
      if (cuts) w.room.emplace_back(std::min<int64_t>(before, 0), std::min<int64_t>(behind, 0));
    }
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
  Window w = unread_window(n, rank);
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
  w.extents.assign(w.kernel.begin(), w.kernel.end());
  read_way(n, w);
  return w;
}

Window read_open_window(Node& n, size_t rank, std::vector<Dim> extents) {
  Window w = unread_window(n, rank);
  w.extents = std::move(extents);
  read_way(n, w);
  return w;
}

void settle_padding(Node& n, Window& w, const TensorType& x) {
  if (!w.begin.empty()) return;
  const bool upper = n.text("auto_pad", "NOTSET") == "SAME_UPPER";
  for (size_t i = 0; i < w.axes; ++i) {
    const Dim extent = x.dims[i + 2], stride(w.strides[i]), reach = w.reach(i);
    // The last window begins so many elements before the end: 1 to `stride`.
    const Dim last = extent - (ceil_div(extent, stride) - Dim(1)) * stride;
    const bool covers = reach.is_const() && reach.value() >= w.strides[i];
    Dim total = reach == Dim(1) ? Dim(0) : covers ? reach - last : clamp_to_zero(reach - last);
    if (total.is_unknown())
      n.unsupported("its padding follows from extents that depend on the data, or are out of range",
                    "fix the dynamic axes with --input-shapes");
    const Dim less = floor_div(total, Dim(2)), more = total - less;
    const Dim before = upper ? less : more, behind = upper ? more : less;
    w.begin.push_back(total.is_const() ? before.value() : 0);
    w.end.push_back(total.is_const() ? behind.value() : 0);
    if (total.is_const()) continue;
    w.room.resize(w.axes, {Dim(0), Dim(0)});
    w.room[i] = {before, behind};
  }
}

Expr with_room(Node& n, const Window& w, Expr x, Expr outside) {
  if (w.room.empty()) return x;
  std::vector<std::pair<Dim, Dim>> width(type_of(x).rank(), {Dim(0), Dim(0)});
  bool pads = false;
  for (size_t i = 0; i < w.axes; ++i) {
    const auto [before, behind] = w.room[i];
    const bool cuts = (before.is_const() && before.value() < 0) || (behind.is_const() && behind.value() < 0);
    if (cuts) {
      const Dim extent = type_of(x).dims[i + 2], left = extent + before + behind;
      if (left.is_unknown())
        n.unsupported("its negative padding cuts an extent that depends on the data, or is out of range",
                      "fix the dynamic axes with --input-shapes");
      n.require(!left.is_const() || left.value() > 0, "its negative padding cuts off all elements");
      x = sliced(n.builder(), x, static_cast<int64_t>(i + 2), Dim(0) - before, extent + behind);
      // A slice counts a negative end from the end of the axis: a run then leaves more than `left`.
      std::vector<Dim> wanted(width.size(), Dim::unknown());
      wanted[i + 2] = left;
      x = n.importer().match_extents(x, wanted, "cut");
    } else if (before != Dim(0) || behind != Dim(0)) {
      width[i + 2] = {before, behind};
      pads = true;
    }
  }
  if (!pads) return x;
  return n.call(kPad, {x, outside}, {{"pad_width", pad_width(n.context(), width)}});
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
