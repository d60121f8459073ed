// Elements that move: shapes, axes, slices, padding, images of another size.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/cat.h"
#include "exporter/onnx/rows.h"
#include "op/tensor/slice.h"

namespace relay::exporter {
namespace {

// The same elements, in the shape that the type checker found.
Names reshape(Site& s) { return {s.reshape(s.arg(0), dims_of(s.type(0)), dims_of(s.result()))}; }

Names expand_dims(Site& s) {
  std::vector<int64_t> axes(s.result().rank() - s.type(0).rank());
  std::iota(axes.begin(), axes.end(), s.axis("axis", s.type(0).rank() + 1));
  return {axes.empty() ? s.node("Identity", {s.arg(0)})
                       : s.node("Unsqueeze", {s.arg(0), s.graph().ints(axes)})};
}

Names squeeze(Site& s) {
  std::vector<int64_t> axes;
  if (s.attrs().is_none("axis")) {
    for (size_t a = 0; a < s.type(0).rank(); ++a) {
      if (s.type(0).dims[a] == Dim(1)) axes.push_back(static_cast<int64_t>(a));
    }
  } else {
    axes = s.attrs().ints("axis");
  }
  return {axes.empty() ? s.node("Identity", {s.arg(0)})
                       : s.node("Squeeze", {s.arg(0), s.graph().ints(axes)})};
}

Names transpose(Site& s) {
  const size_t rank = s.type(0).rank();
  std::vector<int64_t> axes = s.attrs().is_none("axes") ? std::vector<int64_t>() : s.attrs().ints("axes");
  if (axes.empty()) {
    for (size_t a = rank; a-- > 0;) axes.push_back(static_cast<int64_t>(a));
  }
  for (int64_t& a : axes) a = from_front(a, rank);
  return {s.node("Transpose", {s.arg(0)}, {{"perm", axes}})};
}

Names concatenate(Site& s) {
  return {s.node("Concat", s.fields(0), {{"axis", s.axis("axis", s.result().rank())}})};
}

Names stack(Site& s) {
  const int64_t axis = s.axis("axis", s.result().rank());
  const std::string where = s.graph().ints({axis});
  Names parts;
  for (const std::string& x : s.fields(0)) parts.push_back(s.node("Unsqueeze", {x, where}));
  return {s.node("Concat", parts, {{"axis", axis}})};
}

Names split(Site& s) {
  const size_t parts = s.results();
  const int64_t axis = s.axis("axis", s.type(0).rank());
  std::vector<Dim> extents;
  for (size_t i = 0; i < parts; ++i) extents.push_back(s.result(i).dims[static_cast<size_t>(axis)]);
  return s.graph().nodes("Split", {s.arg(0), s.extents().vector(extents)}, parts, {{"axis", axis}});
}

std::vector<int64_t> axes_of_slice(Site& s, size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return s.attrs().is_none("axes") ? axes : s.attrs().ints("axes");
}

// Bounds mean the same in ONNX: from the end if negative, and moved into the axis.
Names strided_slice(Site& s) {
  const std::vector<Dim> begin = s.attrs().dims("begin"), end = s.attrs().dims("end");
  if (begin.empty()) return {s.node("Identity", {s.arg(0)})};
  std::vector<int64_t> axes = axes_of_slice(s, begin.size());
  std::vector<int64_t> strides =
      s.attrs().is_none("strides") ? std::vector<int64_t>() : s.attrs().ints("strides");
  std::vector<Dim> from = begin, to = end;
  if (s.attrs().text("slice_mode") == "size") {
    const op::StridedSliceAttrs a{.begin = begin, .end = end, .slice_mode = "size", .axes = axes};
    axes.clear(), from.clear(), to.clear();
    for (const op::SliceRange& r : op::slice_ranges(a, dims_of(s.type(0)))) {
      axes.push_back(static_cast<int64_t>(r.axis));
      from.push_back(r.begin);
      to.push_back(r.begin + r.size);
    }
    strides.assign(axes.size(), 1);
  }
  if (strides.size() <= 1) strides.assign(from.size(), strides.empty() ? 1 : strides[0]);
  const std::string starts = s.extents().vector(from), ends = s.extents().vector(to);
  return {s.node("Slice", {s.arg(0), starts, ends, s.graph().ints(axes), s.graph().ints(strides)})};
}

Names reverse(Site& s) {
  const int64_t axis = s.axis("axis", s.type(0).rank());
  const std::string last = s.graph().ints({-1});
  const std::string first = s.graph().ints({std::numeric_limits<int64_t>::min()});
  return {s.node("Slice", {s.arg(0), last, first, s.graph().ints({axis}), last})};
}

Names reverse_sequence(Site& s) {
  const size_t rank = s.type(0).rank();
  const int64_t time = s.axis("seq_axis", rank), batch = s.axis("batch_axis", rank);
  s.require(time + batch == 1, "ONNX has the sequences and the batch along the first two axes");
  const std::optional<Tensor> lengths = s.constant(1);
  const Dim most = s.type(0).dims[static_cast<size_t>(time)];
  s.require(lengths && most.is_const(),
            "ONNX has no lengths beyond the sequence, and these are not constant");
  Tensor known(kInt64, lengths->shape());
  for (int64_t i = 0; i < known.size(); ++i)
    known.set_int(i, std::clamp<int64_t>(lengths->get_int(i), 0, most.value()));
  return {s.node("ReverseSequence", {s.arg(0), s.graph().constant(known, "lengths")},
                 {{"time_axis", time}, {"batch_axis", batch}})};
}

Names broadcast_to(Site& s) {
  return {s.node("Expand", {s.arg(0), s.extents().vector(dims_of(s.result()))})};
}

// Repetitions are aligned at the right; the shorter of both lists is filled up with 1.
Names tile(Site& s) {
  std::vector<Dim> reps = s.attrs().dims("reps");
  const size_t rank = s.result().rank(), before = s.type(0).rank();
  reps.insert(reps.begin(), rank - reps.size(), Dim(1));
  std::vector<int64_t> added(rank - before);
  std::iota(added.begin(), added.end(), 0);
  const std::string x = added.empty() ? s.arg(0) : s.node("Unsqueeze", {s.arg(0), s.graph().ints(added)});
  return {s.node("Tile", {x, s.extents().vector(reps)})};
}

// Each element several times: a new axis behind it, made long, and merged.
Names repeat(Site& s) {
  const bool flat = s.attrs().is_none("axis");
  std::string x = flat ? s.node("Reshape", {s.arg(0), s.graph().ints({-1})}) : s.arg(0);
  const size_t rank = flat ? 1 : s.type(0).rank();
  const int64_t axis = flat ? 0 : s.axis("axis", rank);
  std::vector<int64_t> ones(rank + 1, 1);
  ones[static_cast<size_t>(axis) + 1] = s.attrs().integer("repeats");
  x = s.node("Unsqueeze", {x, s.graph().ints({axis + 1})});
  x = s.node("Expand", {x, s.graph().ints(ones)});
  return {s.reshape(x, {}, dims_of(s.result()))};
}

Names pad_with(Site& s, const std::string& mode, const std::string& value) {
  const AttrValue widths = s.attrs().value("pad_width");
  std::vector<Dim> pads(2 * widths.list.size());
  for (size_t a = 0; a < widths.list.size(); ++a) {
    for (size_t side = 0; side < 2; ++side) {
      const AttrValue& width = widths.list[a].list[side];
      pads[a + side * widths.list.size()] = width.kind == AttrKind::kDim ? width.dim : Dim(width.integer);
    }
  }
  Names inputs{s.arg(0), s.extents().vector(pads)};
  if (!value.empty()) inputs.push_back(value);
  return {s.node("Pad", inputs, {{"mode", mode}})};
}

Names pad(Site& s) {
  const std::string mode = s.attrs().text("pad_mode");
  s.require(mode != "symmetric", "ONNX does not pad with mirror images that repeat the border");
  if (mode != "constant") return pad_with(s, mode, "");
  const DType dtype = s.type(0).dtype;
  if (const std::optional<Tensor> value = s.constant(1))
    return pad_with(s, mode, s.graph().constant(value->converted(dtype), "pad_value"));
  return pad_with(s, mode, s.cast(s.arg(1), s.type(1).dtype, dtype));
}

bool is_plain_image(const CallAttrs& a, const Call&) { return a.text("layout") == "NCHW"; }

Names depth_to_space(Site& s) {
  return {s.node("DepthToSpace", {s.arg(0)},
                 {{"blocksize", s.attrs().integer("block_size")}, {"mode", s.attrs().text("mode")}})};
}
Names space_to_depth(Site& s) {
  return {s.node("SpaceToDepth", {s.arg(0)}, {{"blocksize", s.attrs().integer("block_size")}})};
}
bool is_depth_first(const CallAttrs& a, const Call& call) {
  return is_plain_image(a, call) && a.text("mode") == "DCR";
}

struct Word {
  std::string_view ours, onnx;
};
std::string translated(Site& s, std::string_view attribute, std::span<const Word> words) {
  const std::string ours = s.attrs().text(attribute);
  for (const Word& w : words) {
    if (w.ours == ours) return std::string(w.onnx);
  }
  s.refuse(cat("ONNX has no ", attribute, "=\"", ours, "\""));
}

Names resize(Site& s) {
  constexpr Word kMethods[] = {{"nearest_neighbor", "nearest"}, {"linear", "linear"}, {"cubic", "cubic"}};
  constexpr Word kModes[] = {{"half_pixel", "half_pixel"},
                             {"asymmetric", "asymmetric"},
                             {"align_corners", "align_corners"},
                             {"pytorch_half_pixel", "pytorch_half_pixel"}};
  constexpr Word kRoundings[] = {{"round", "round_prefer_ceil"},
                                 {"round_prefer_ceil", "round_prefer_ceil"},
                                 {"round_prefer_floor", "round_prefer_floor"},
                                 {"floor", "floor"},
                                 {"ceil", "ceil"}};
  constexpr std::string_view kPlain[] = {"NCW", "NCHW", "NCDHW"};
  s.require(s.attrs().text("layout") == kPlain[s.type(0).rank() - 3],
            "ONNX resizes with the channels second");
  const std::string method = translated(s, "method", kMethods);
  Attributes attributes{
      {"mode", method},
      {"coordinate_transformation_mode", translated(s, "coordinate_transformation_mode", kModes)}};
  if (method == "nearest")
    attributes.emplace_back("nearest_mode", translated(s, "rounding_method", kRoundings));
  if (method == "cubic") {
    s.require(fits_attribute(s.attrs().real("cubic_alpha")), "no float32 is its cubic_alpha");
    attributes.emplace_back("cubic_coeff_a", s.attrs().real("cubic_alpha"));
    attributes.emplace_back("exclude_outside", s.attrs().integer("cubic_exclude"));
  }
  return {s.node("Resize", {s.arg(0), "", "", s.extents().vector(dims_of(s.result()))}, attributes)};
}

constexpr Row kRows[] = {
    {"broadcast_to", broadcast_to},
    {"broadcast_to_like", broadcast_to},
    {"concatenate", concatenate},
    {"contrib_reverse_reshape", reshape},
    {"expand_dims", expand_dims},
    {"image.resize1d", resize},
    {"image.resize2d", resize},
    {"image.resize3d", resize},
    {"nn.batch_flatten", reshape},
    {"nn.depth_to_space", depth_to_space, is_plain_image},
    {"nn.pad", pad},
    {"nn.space_to_depth", space_to_depth, is_depth_first},
    {"repeat", repeat},
    {"reshape", reshape},
    {"reshape_like", reshape},
    {"reverse", reverse},
    {"reverse_sequence", reverse_sequence},
    {"split", split},
    {"squeeze", squeeze},
    {"stack", stack},
    {"strided_slice", strided_slice},
    {"tile", tile},
    {"transpose", transpose},
};

}  // namespace

std::span<const Row> movement_rows() { return kRows; }

}  // namespace relay::exporter
