// Pooling: over windows, and over all spatial axes.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/pooling.h"
#include "frontend/onnx/window.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// The window over x, which has batch and channels in front.
Window window_over(Node& n, Expr x) {
  Window w = read_window(n, type_of(x).rank(), {});
  settle_padding(n, w, type_of(x));
  return w;
}

// Pools x; `outside` stands where the window's room pads.
Expr pool(Node& n, const Window& w, const OpDef& images, const OpDef& volumes, Expr x, Expr outside,
          std::vector<AttrArg> more) {
  std::vector<AttrArg> attrs{{"pool_size", w.both(w.kernel, 1)},
                             {"strides", w.both(w.strides, 1)},
                             {"dilation", w.both(w.dilations, 1)},
                             {"padding", w.padding()},
                             {"ceil_mode", w.ceil_mode}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  const Expr image = as_image(n, with_room(n, w, x, outside), w);
  return as_line(n, n.call(w.over(images, volumes), {image}, attrs), w);
}

int64_t least_int(DType dtype) { return dtype.is_signed_int() ? INT64_MIN >> (64 - dtype.bits) : 0; }

Expr least_of(Node& n, DType dtype) {
  return dtype.is_float() ? n.scalar(dtype, -std::numeric_limits<double>::infinity())
                          : n.builder().constant(Tensor::scalar_int(dtype, least_int(dtype)));
}

// The number of each element of x in its whole, or with the first spatial axis running fastest.
Expr numbers_of(Node& n, bool column_major) {
  std::vector<Dim> dims = dims_of(n.input(0));
  if (column_major) std::reverse(dims.begin() + 2, dims.end());
  const Expr numbers = n.reshape(n.places({product(dims)}), dims);
  if (!column_major || dims.size() == 3) return numbers;
  std::vector<int64_t> axes{0, 1};
  for (auto axis = static_cast<int64_t>(dims.size()); axis-- > 2;) axes.push_back(axis);
  return n.transpose(numbers, axes);
}

// From the offsets on, as many elements of e as the result has, a stride apart. Unlike a slice, it
// has the extents of the result also where these are symbols.
Expr every_stride(Node& n, const Window& w, Expr e, const std::vector<int64_t>& offset,
                  const std::vector<Dim>& result) {
  for (size_t i = 0; i < w.axes; ++i) {
    const auto number = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); };
    const Expr begins = n.call(kMultiply, {n.places({result[i + 2]}), number(w.strides[i])});
    e = n.call(kTake, {e, n.call(kAdd, {begins, number(offset[i])})},
               {{"axis", static_cast<int64_t>(i + 2)}, {"mode", std::string("fast")}});
  }
  return e;
}

// Where the largest element of each window of the input is, the first one of several. All windows'
// elements at one offset are a slice of every stride-th element; the slices are compared one after
// the other.
Expr places_of_largest(Node& n, const Window& w, const std::vector<Dim>& result) {
  constexpr int64_t kMostElements = 1024;
  const Expr least = least_of(n, n.dtype(0)), no_place = n.builder().constant(Tensor::scalar_int(kInt64, -1));
  const Expr x = with_room(n, w, n.input(0), least);
  std::vector<std::pair<Dim, Dim>> width(type_of(x).rank(), {Dim(0), Dim(0)});
  int64_t elements = 1;
  bool is_open = false;
  for (size_t i = 0; i < w.axes; ++i) {
    const Dim extent = type_of(x).dims[i + 2], count = result[i + 2];
    if (extent.is_unknown() || count.is_unknown())
      n.unsupported("its second result, the indices, needs an input whose shape does not depend on the data",
                    "fix the dynamic axes with --input-shapes");
    elements *= w.kernel[i];
    if (elements > kMostElements) n.unsupported("the indices of so large windows are not supported");
    // With ceil_mode the last window ends less than a stride behind the padding.
    Dim behind(w.end[i] + w.strides[i] - 1);
    if (extent.is_const() && count.is_const())
      behind = max(Dim(0), (count - 1) * Dim(w.strides[i]) + w.reach(i) - extent - Dim(w.begin[i]));
    is_open |= !extent.is_const() || !count.is_const();
    width[i + 2] = {Dim(w.begin[i]), behind};
  }
  const auto padded = [&](Expr e, Expr value) {
    return n.call(kPad, {e, value}, {{"pad_width", pad_width(n.context(), width)}});
  };
  const Expr values = padded(x, least);
  const Expr numbers =
      padded(with_room(n, w, numbers_of(n, n.integer("storage_order", 0) != 0), no_place), no_place);
  std::vector<int64_t> axes(w.axes), offset(w.axes, 0);
  std::iota(axes.begin(), axes.end(), 2);
  Expr best = nullptr, place = nullptr;
  for (int64_t at = 0; at < elements; ++at) {
    std::vector<Dim> begin, end;
    int64_t rest = at;
    for (size_t i = w.axes; i-- > 0; rest /= w.kernel[i]) offset[i] = rest % w.kernel[i] * w.dilations[i];
    for (size_t i = 0; i < w.axes; ++i) {
      begin.emplace_back(offset[i]);
      end.push_back(Dim(offset[i]) + (result[i + 2] - 1) * Dim(w.strides[i]) + 1);
    }
    const auto part = [&](Expr e) {
      if (is_open) return every_stride(n, w, e, offset, result);
      return n.call(kStridedSlice, {e},
                    {{"begin", begin}, {"end", end}, {"strides", w.strides}, {"axes", axes}});
    };
    const Expr value = part(values), number = part(numbers);
    if (!best) {
      best = value;
      place = number;
      continue;
    }
    // An element counts where there was only padding before, also if it is as small.
    const Expr larger =
        n.call(kLogicalOr, {n.call(kGreater, {value, best}),
                            n.call(kLogicalAnd, {n.call(kLess, {place, n.scalar(kInt64, 0)}),
                                                 n.call(kGreaterEqual, {number, n.scalar(kInt64, 0)})})});
    best = n.call(kWhere, {larger, value, best});
    place = n.call(kWhere, {larger, number, place});
  }
  return place;
}

Results max_pool(Node& n) {
  n.without_effect({"storage_order"});  // it is about the second result
  const Expr x = n.input(0);
  const Window w = window_over(n, x);
  const Expr y = pool(n, w, kMaxPool2d, kMaxPool3d, x, least_of(n, n.dtype(0)), {});
  if (!n.wants(1)) return {y};
  return {y, places_of_largest(n, w, dims_of(y))};
}

Results average_pool(Node& n) { return {average_of_windows(n, n.input(0))}; }

// (sum |x|^p)^(1/p) over the window: an average of powers, times the size of the window.
Results lp_pool(Node& n) {
  const double p = n.opset() < 2 ? n.real("p", 2) : static_cast<double>(n.integer("p", 2));
  n.require(p >= 1 && p <= 64, "its attribute `p` is out of range");
  const DType dtype = n.dtype(0);
  Window w = window_over(n, n.input(0));
  const Expr x = with_room(n, w, n.input(0), n.scalar(dtype, 0));
  w.room.clear();
  if (w.ceil_mode) {
    // Zeros behind the end, for windows that reach beyond it.
    for (size_t i = 0; i < w.axes; ++i) {
      const Dim extent = type_of(x).dims[i + 2];
      if (!extent.is_const())
        n.unsupported("ceil_mode=1 needs known extents", "fix the dynamic axis with --input-shapes");
      n.require(extent.value() < (int64_t{1} << 40), "its extent is out of range");
      const int64_t rest = extent.value() + w.begin[i] + w.end[i] - (w.kernel[i] - 1) * w.dilations[i] - 1;
      const int64_t more = rest % w.strides[i] == 0 ? 0 : w.strides[i] - rest % w.strides[i];
      // Not for one that begins behind the last element.
      if (rest > 0 && rest + more < extent.value() + w.begin[i]) w.end[i] += more;
    }
    w.ceil_mode = false;
  }
  const Expr power = n.call(kPower, {n.call(kAbs, {x}), n.scalar(dtype, p)});
  const Expr mean =
      pool(n, w, kAvgPool2d, kAvgPool3d, power, n.scalar(dtype, 0), {{"count_include_pad", true}});
  double size = 1;
  for (int64_t k : w.kernel) size *= static_cast<double>(k);
  const Expr sum = n.call(kMultiply, {mean, n.scalar(dtype, size)});
  return {n.call(kPower, {sum, n.scalar(dtype, 1.0 / p)})};
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

// How much larger a wanted extent is. A run traps if it is smaller.
Dim surplus(Node& n, Dim wanted, Dim extent) {
  if (wanted == extent) return Dim(0);
  if (wanted.is_const() && extent.is_const()) {
    n.require(wanted.value() >= extent.value(), "its output_shape is smaller than what was pooled");
    return wanted - extent;
  }
  Importer& importer = n.importer();
  return named_number(n, n.call(kSubtract, {importer.materialise(wanted), importer.materialise(extent)}));
}

// The elements go to the places that input 1 has: indices into the whole of what was pooled. Input
// 2 is a shape that is larger than that, if it is there: then there are zeros behind.
Results max_unpool(Node& n) {
  const Window w = read_window(n, n.rank(0), {});
  n.require(!w.begin.empty(), "its attribute `auto_pad` does not exist");
  if (!w.room.empty()) n.unsupported("negative padding is not supported");
  const Expr x = n.input(0);
  std::vector<Dim> shape = dims_of(x);
  if (any_unknown(shape)) n.unsupported("the shape of its input must be known");
  bool fits = n.dtype(1) == kInt64 && n.rank(1) == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = prove_equal(n.tensor(1).dims[d], shape[d]) != kernel::Proof::kRefuted;
  n.require(fits, "its indices must be int64 in the shape of its input");
  const Expr places = n.importer().match_extents(n.input(1), shape, "places");
  for (size_t i = 0; i < w.axes; ++i)
    shape[2 + i] = (shape[2 + i] - 1) * w.strides[i] + w.kernel[i] - (w.begin[i] + w.end[i]);
  for (const Dim extent : shape) {
    if (extent.is_const()) n.require(extent.value() >= 0, "its padding is larger than what was pooled");
  }
  std::vector<std::pair<Dim, Dim>> more(shape.size(), {Dim(0), Dim(0)});
  if (n.has(2)) {
    const std::vector<Dim> wanted = extents_at(n, 2, "output_shape", shape.size());
    for (size_t d = 0; d < shape.size(); ++d) more[d].second = surplus(n, wanted[d], shape[d]);
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
    {"AveragePool", 1, average_pool, "more than 3 spatial axes"},
    {"GlobalAveragePool", 1, global_average_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {"GlobalLpPool", 1, global_lp_pool},
    {"LpPool", 1, lp_pool, "more than 3 spatial axes"},
    {"MaxPool", 1, max_pool, "more than 3 spatial axes"},
    {"MaxUnpool", 9, max_unpool, "more than 3 spatial axes, negative pads"},
};

}  // namespace

Expr average_of_windows(Node& n, Expr x) {
  const bool counts_padding = n.integer("count_include_pad", 0) != 0;
  const Window w = window_over(n, x);
  const Expr none = n.scalar(type_of(x).dtype, 0);
  const auto mean = [&](Expr e, bool all) {
    return pool(n, w, kAvgPool2d, kAvgPool3d, e, none, {{"count_include_pad", all}});
  };
  const bool pads = std::any_of(w.room.begin(), w.room.end(),
                                [](const auto& r) { return !r.first.is_const() || !r.second.is_const(); });
  if (counts_padding || !pads) return mean(x, counts_padding);
  // The operator counts what stands where only a run knows the padding: a mean of ones tells how
  // much of each window that is not.
  std::vector<Dim> one = dims_of(x);
  one[0] = one[1] = Dim(1);
  const Expr ones = n.call(kOnes, std::span<const Expr>(), {{"shape", one}, {"dtype", type_of(x).dtype}});
  return n.call(kDivide, {mean(x, true), mean(ones, true)});
}

std::span<const Row> pooling_rows() { return kRows; }

}  // namespace relay::frontend
