// Elements that change their places: transposing, joining, cutting, padding.
#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/wrap.h"
#include "op/tensor/attributes.h"

namespace relay::frontend {
namespace {

using namespace op;

Results transpose(Node& n) {
  const size_t rank = n.rank(0);
  std::vector<int64_t> axes = n.integers("perm");
  if (axes.empty()) {
    for (size_t i = rank; i-- > 0;) axes.push_back(static_cast<int64_t>(i));
  }
  n.require(axes.size() == rank, "its attribute `perm` has another length than its input has dimensions");
  if (rank < 2) return {n.input(0)};
  return {n.transpose(n.input(0), axes)};
}

Results concat(Node& n) {
  n.require(n.inputs() > 0, "it has no inputs");
  const auto axis = static_cast<int64_t>(n.axis(n.integer("axis", 1), n.rank(0)));
  return {n.concatenate(n.all_inputs(), axis)};
}

// As many parts of one extent, of which the last may be smaller or empty: an axis that is
// only known by name.
Results split_by_name(Node& n, Expr x, size_t axis, Dim extent, int64_t count) {
  const Dim each = ceil_div(extent, Dim(count));
  Results out;
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<Dim> begin{each * Dim(i)},
        end{i + 1 == count ? extent : min(each * Dim(i + 1), extent)};
    out.push_back(
        n.call(kStridedSlice, {x},
               {{"begin", begin}, {"end", end}, {"axes", std::vector{static_cast<int64_t>(axis)}}}));
  }
  return out;
}

// Parts of sizes that the model computes. A run compares their sum with the extent.
Results split_by_sizes(Node& n, size_t axis) {
  const std::vector<Dim> sizes = extents_at(n, 1, "sizes", n.outputs());
  Dim at = 0;
  std::vector<std::pair<Dim, Dim>> bounds;
  for (Dim size : sizes) {
    bounds.emplace_back(at, at + size);
    at = at + size;
  }
  std::vector<Dim> wanted = dims_of(n.input(0));
  if (prove_equal(wanted[axis], at) == kernel::Proof::kRefuted)
    n.invalid("its sizes do not add up to the extent of the axis");
  wanted[axis] = at;
  const Expr x = n.importer().match_extents(n.input(0), wanted, n.proto().input(0));
  Results out;
  for (const auto& [begin, end] : bounds) {
    out.push_back(n.call(kStridedSlice, {x},
                         {{"begin", std::vector{begin}},
                          {"end", std::vector{end}},
                          {"axes", std::vector{static_cast<int64_t>(axis)}}}));
  }
  return out;
}

Results split(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  const size_t axis = n.axis(n.integer("axis", 0), t.rank());
  const Dim extent = t.dims[axis];
  std::vector<int64_t> parts;
  if (n.opset() < 13) {
    if (n.has(1))
      n.unsupported("sizes as an input are not supported in this version", "its attribute `split` is");
    parts = n.integers("split");
  } else if (n.has(1)) {
    if (!n.known(1)) return split_by_sizes(n, axis);
    parts = n.constant_ints(1, "sizes");
  }
  const auto count = static_cast<int64_t>(n.outputs());
  std::vector<AttrArg> attrs{{"axis", static_cast<int64_t>(axis)}};
  if (parts.empty()) {
    const int64_t wanted = n.integer("num_outputs", count);
    n.require(wanted == count && count > 0, "its attribute `num_outputs` is not the number of its outputs");
    const bool equal = !n.attribute("num_outputs") || !exact_quotient(extent, Dim(count)).is_unknown();
    if (extent.is_symbolic() && !equal && count > 1) return split_by_name(n, x, axis, extent, count);
    if (!extent.is_const() || extent.value() % count == 0) {
      attrs.push_back({"indices_or_sections", count});
    } else {  // the last part is smaller
      const int64_t each = extent.value() / count + 1;
      for (int64_t i = 0; i < count; ++i)
        parts.push_back(std::clamp<int64_t>(extent.value() - i * each, 0, each));
    }
  }
  if (!parts.empty()) {
    n.require(static_cast<int64_t>(parts.size()) == count, "it has another number of sizes than outputs");
    std::vector<int64_t> cuts;
    int64_t at = 0;
    for (int64_t p : parts) {
      n.require(p >= 0 && p <= INT64_MAX - at, "its sizes are out of range");
      at += p;
      cuts.push_back(at);
    }
    if (extent.is_const())
      n.require(at == extent.value(), "its sizes do not add up to the extent of the axis");
    cuts.pop_back();
    if (count == 1) return {x};
    attrs.push_back({"indices_or_sections", cuts});
  }
  const Expr all = n.call(kSplit, {x}, attrs);
  Results out;
  for (int64_t i = 0; i < count; ++i) out.push_back(n.proj(all, static_cast<uint32_t>(i)));
  return out;
}

// Bounds may be symbolic; "the very end" is written in many ways.
Results slice_between(Node& n, std::vector<Dim> begin, std::vector<Dim> end, std::vector<int64_t> axes,
                      std::vector<int64_t> steps) {
  const size_t rank = n.rank(0);
  if (axes.empty()) {
    axes.resize(begin.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(begin.size(), 1);
  n.require(begin.size() == end.size() && axes.size() == begin.size() && steps.size() == begin.size(),
            "its starts, ends, axes and steps have different lengths");
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = static_cast<int64_t>(n.axis(axes[i], rank));
    n.require(steps[i] != 0, "it has a step of 0");
    // The smallest integer has no negative; no extent tells it from its neighbour.
    steps[i] = std::max(steps[i], -INT64_MAX);
    // Exporters write "to the end" as some large number. No axis that is only known by name is as
    // long as this, and without it the type would have to say min(n, 1000000000).
    constexpr int64_t kEnd = 1'000'000'000;
    const Dim extent = n.tensor(0).dims[static_cast<size_t>(axes[i])];
    if (steps[i] > 0 && !extent.is_const() && end[i].is_const() && end[i].value() >= kEnd)
      end[i] = Dim(INT64_MAX);
    // A start before the first element is the first element. As a bound of strided_slice, and in
    // Python, it is the place before it, from which nothing goes backwards.
    if (steps[i] < 0 && begin[i].is_const() && begin[i].value() < -1 && !extent.is_unknown()) {
      const Dim start = max(extent + begin[i], Dim(0));
      if (!start.is_const() || start == Dim(0)) begin[i] = start;
    }
  }
  if (axes.empty()) return {n.input(0)};
  return {n.call(kStridedSlice, {n.input(0)},
                 {{"begin", begin}, {"end", end}, {"strides", steps}, {"axes", axes}})};
}

std::optional<std::vector<Dim>> as_dims(const std::vector<int64_t>& values) {
  std::vector<Dim> out;
  for (int64_t v : values) out.emplace_back(std::max(v, -INT64_MAX));
  return out;
}

Results slice_attributes(Node& n) {
  return slice_between(n, *as_dims(n.integers("starts")), *as_dims(n.integers("ends")), n.integers("axes"),
                       {});
}

Results slice(Node& n) {
  // Of constants also those that are larger than a dim can say.
  const auto bounds = [&](size_t i, std::string_view what) {
    return n.known(i) ? as_dims(n.constant_ints(i, what)) : n.known_dims(i, what);
  };
  const std::optional<std::vector<Dim>> begin = bounds(1, "starts"), end = bounds(2, "ends");
  const bool has_places = (!n.has(3) || n.known(3)) && (!n.has(4) || n.known(4));
  if (!begin || !end || !has_places) return {slice_computed(n)};
  return slice_between(n, *begin, *end, n.has(3) ? n.constant_ints(3, "axes") : std::vector<int64_t>{},
                       n.has(4) ? n.constant_ints(4, "steps") : std::vector<int64_t>{});
}

std::string pad_mode(Node& n) {
  const std::string mode = n.text("mode", "constant");
  const bool wrap = mode == "wrap" && n.opset() >= 19;
  if (mode != "constant" && mode != "reflect" && mode != "edge" && !wrap) {
    n.unsupported(cat("mode `", mode.substr(0, 40), "` is not supported in version ", n.opset()),
                  "constant, reflect and edge are; wrap is from version 19 on");
  }
  return mode;
}

// `pads`: all that is put before the axes, then all that is put behind them. Negative ones cut off.
Results pad_by(Node& n, const std::vector<Dim>& pads, std::vector<int64_t> axes, Expr value) {
  Expr x = n.input(0);
  const size_t rank = type_of(x).rank();
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  const std::vector<size_t> places = different_axes(n, axes, rank);
  n.require(pads.size() == 2 * axes.size(), "its pads have a wrong length");
  const std::string mode = pad_mode(n);
  std::vector<std::pair<Dim, Dim>> width(rank, {Dim(0), Dim(0)});
  std::vector<Dim> begin, end;
  std::vector<int64_t> cut;
  bool any = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = places[i];
    Dim before = pads[i], after = pads[i + axes.size()];
    const bool shorter = (before.is_const() && before.value() < 0) || (after.is_const() && after.value() < 0);
    if (shorter) {
      const Dim front = max(Dim(0) - before, Dim(0)), back = max(Dim(0) - after, Dim(0));
      cut.push_back(static_cast<int64_t>(axis));
      begin.push_back(front);
      end.push_back(back == Dim(0) ? Dim(INT64_MAX) : Dim(0) - back);
      before = max(before, Dim(0));
      after = max(after, Dim(0));
    }
    any = any || before != Dim(0) || after != Dim(0);
    width[axis] = {before, after};
  }
  if (!cut.empty()) x = n.call(kStridedSlice, {x}, {{"begin", begin}, {"end", end}, {"axes", cut}});
  if (!any) return {x};
  if (mode == "wrap") return {wrapped(n, x, width)};
  return {n.call(kPad, {x, value}, {{"pad_width", pad_width(n.context(), width)}, {"pad_mode", mode}})};
}

Results pad_attributes(Node& n) {
  return pad_by(n, *as_dims(n.integers(n.opset() < 2 ? "paddings" : "pads")), {},
                n.scalar(n.dtype(0), n.real("value", 0)));
}

Results pad(Node& n) {
  const Expr value = n.has(2) ? n.reshape(n.input(2), {}) : n.scalar(n.dtype(0), 0);
  const std::optional<std::vector<Dim>> pads = n.known_dims(1, "pads");
  const bool is_known = pads && (!n.has(3) || n.known(3));
  if (!is_known) return {pad_computed(n, pad_mode(n), value)};
  return pad_by(n, *pads, n.has(3) ? n.constant_ints(3, "axes") : std::vector<int64_t>{}, value);
}

Results tile(Node& n) {
  const std::optional<std::vector<Dim>> repeats = n.known_dims(1, "repeats");
  if (!repeats) return {tile_computed(n)};
  return {n.call(kTile, {n.input(0)}, {{"reps", *repeats}})};
}

// [n, c, h, w] with squares of channels made squares of pixels.
int64_t block_size(Node& n) {
  n.require(n.rank(0) == 4, "its input must have four dimensions");
  const int64_t b = n.integer("blocksize");
  n.require(b >= 1 && b < (1 << 16), "its attribute `blocksize` is out of range");
  return b;
}

Results depth_to_space(Node& n) {
  const int64_t b = block_size(n);
  const std::string mode = n.text("mode", "DCR");
  n.require(mode == "DCR" || mode == "CRD", "its attribute `mode` is neither DCR nor CRD");
  const Dim channels = n.tensor(0).dims[1];
  n.require(!channels.is_const() || channels.value() % (b * b) == 0,
            "its channels cannot be divided into squares");
  return {n.call(kDepthToSpace, {n.input(0)}, {{"block_size", b}, {"mode", mode}})};
}

Results space_to_depth(Node& n) {
  const int64_t b = block_size(n);
  const std::string mode = n.text("mode", "DCR");
  n.require(mode == "DCR" || mode == "CRD", "its attribute `mode` is neither DCR nor CRD");
  const Expr y = n.call(kSpaceToDepth, {n.input(0)}, {{"block_size", b}});
  if (mode == "DCR") return {y};
  // The pixels of a block stand side by side among the channels, not the channels of a pixel.
  const Dim channels = n.tensor(0).dims[1];
  const std::vector<Dim> dims = dims_of(y);
  const Expr blocks = n.reshape(y, {dims[0], Dim(b * b), channels, dims[2], dims[3]});
  return {n.reshape(n.transpose(blocks, {0, 2, 1, 3, 4}), dims)};
}

Results reverse_sequence(Node& n) {
  const auto axis = [&](std::string_view name, int64_t otherwise) {
    return static_cast<int64_t>(n.axis(n.integer(name, otherwise), n.rank(0)));
  };
  return {n.call(kReverseSequence, {n.input(0), n.input(1)},
                 {{"seq_axis", axis("time_axis", 0)}, {"batch_axis", axis("batch_axis", 1)}})};
}

constexpr Row kRows[] = {
    {"Concat", 1, concat},
    {"DepthToSpace", 1, depth_to_space},
    {"Pad", 1, pad_attributes},
    {"Pad", 11, pad},
    {"ReverseSequence", 10, reverse_sequence},
    {"Slice", 1, slice_attributes},
    {"Slice", 10, slice},
    {"SpaceToDepth", 1, space_to_depth},
    {"Split", 1, split},
    {"Tile", 6, tile},
    {"Transpose", 1, transpose},
};

}  // namespace

std::span<const Row> movement_rows() { return kRows; }

}  // namespace relay::frontend
