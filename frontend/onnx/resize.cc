// Resize and Upsample: images of another size.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/resize_taps.h"

namespace relay::frontend {
namespace {

using namespace op;

struct Wanted {
  std::vector<Dim> size;       // of every axis
  std::vector<double> scales;  // of every axis; 0: the ratio of the sizes
  std::string mode, coordinates, nearest = "round_prefer_floor";
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<double> roi;  // the starts of all axes, then the ends; empty unless places come from it
};

// How the mode is called here, and by the operators.
std::string method_of(Node& n, std::string& mode) {
  if (mode == "bilinear") mode = "linear";
  if (mode == "nearest") return "nearest_neighbor";
  if (mode != "linear" && mode != "cubic") n.invalid(cat("its mode `", mode.substr(0, 40), "` is unknown"));
  return mode;
}

void require_words(Node& n, const Wanted& w) {
  const auto one_of = [](const std::string& word, std::initializer_list<std::string_view> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if (!one_of(w.coordinates, {"half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners",
                              "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"})) {
    n.unsupported(cat("coordinate_transformation_mode `", w.coordinates.substr(0, 40), "` is not supported"),
                  "half_pixel, asymmetric, align_corners and pytorch_half_pixel are");
  }
  if (!one_of(w.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))
    n.invalid(cat("its nearest_mode `", w.nearest.substr(0, 40), "` is unknown"));
}

// Every axis by itself. Only operators on whole images know extents that nobody knows yet.
Results resized_by_axes(Node& n, const Wanted& w) {
  Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x);
  const bool crop = w.coordinates == "tf_crop_and_resize";
  const DType dtype = type_of(x).dtype;
  if (w.mode != "nearest" && !dtype.is_float())
    n.unsupported(cat("mode ", w.mode, " is not supported for elements of ", dtype.name()),
                  "cast to float32");
  for (size_t i = 0; i < from.size(); ++i) {
    ResizedAxis axis;
    if (crop) {
      axis.start = w.roi[i];
      axis.end = w.roi[from.size() + i];
    }
    const bool whole = axis.start == 0 && axis.end == 1;
    const bool scaled = i < w.scales.size() && w.scales[i] != 0;
    if (from[i] == w.size[i] && whole && (!scaled || w.scales[i] == 1)) continue;
    if (!from[i].is_const() || !w.size[i].is_const()) {
      n.unsupported(cat("the extents of axis ", i, " must be known for this form"),
                    "fix the dynamic axis with --input-shapes");
    }
    axis.from = from[i].value();
    axis.to = w.size[i].value();
    n.require(axis.from >= 1 && axis.to >= 1, "an image without pixels cannot be resized");
    if (axis.to > (int64_t{1} << 24)) n.unsupported("an axis of more than 2^24 elements is not supported");
    axis.scale = scaled ? w.scales[i] : static_cast<double>(axis.to) / static_cast<double>(axis.from);
    if (crop && !scaled && !whole) axis.scale /= axis.end - axis.start;
    axis.mode = w.mode;
    axis.coordinates = w.coordinates;
    axis.nearest = w.nearest;
    axis.cubic = w.cubic;
    axis.exclude_outside = w.exclude_outside;
    axis.antialias = w.antialias;
    const std::optional<Taps> taps = taps_of(axis);
    if (!taps) n.unsupported("such a scale with antialias=1 is not supported", "antialias=0 is");
    x = with_taps(n, x, i, *taps, w.extrapolation);
  }
  return {x};
}

// Do the operators on images make this?
bool is_of_images(const Wanted& w, const std::vector<Dim>& from) {
  const size_t rank = from.size();
  if (rank < 3 || rank > 5 || w.antialias || w.size[0] != from[0] || w.size[1] != from[1]) return false;
  for (double scale : w.scales) {
    if (scale != 0) return false;
  }
  if (w.coordinates != "tf_crop_and_resize") return true;
  return w.roi[0] == 0 && w.roi[1] == 0 && w.roi[rank] == 1 && w.roi[rank + 1] == 1;
}

// The image, whose batch and channels a run compares with those of the size if nobody can tell.
Expr unchanged_ahead(Node& n, const std::vector<Dim>& size) {
  std::vector<Dim> wanted = dims_of(n.input(0));
  for (size_t i = 0; i < std::min<size_t>(2, wanted.size()); ++i) {
    if (prove_equal(wanted[i], size[i]) == kernel::Proof::kUnknown && !size[i].is_unknown())
      wanted[i] = size[i];
  }
  return n.importer().match_extents(n.input(0), wanted, n.proto().input(0));
}

Results resized(Node& n, Wanted w) {
  const Expr x = unchanged_ahead(n, w.size);
  const std::vector<Dim> from = dims_of(x);
  require_words(n, w);
  const std::string method = method_of(n, w.mode);
  const size_t rank = from.size();
  if (w.coordinates == "tf_crop_and_resize")
    n.require(w.roi.size() == 2 * rank, "its roi must have a start and an end for each axis");
  const bool by_ratio = std::all_of(w.scales.begin(), w.scales.end(), [](double s) { return s == 0; });
  if (from == w.size && by_ratio && w.coordinates != "tf_crop_and_resize" &&
      w.coordinates != "tf_half_pixel_for_nn")
    return {x};
  if (!is_of_images(w, from)) return resized_by_axes(n, w);
  // Where sizes are the scaled extents, nothing is left for the symmetry.
  if (w.coordinates == "half_pixel_symmetric") w.coordinates = "half_pixel";
  std::vector<AttrArg> attrs{{"size", std::vector<Dim>(w.size.begin() + 2, w.size.end())},
                             {"method", method},
                             {"coordinate_transformation_mode", w.coordinates}};
  if (method == "nearest_neighbor") attrs.push_back({"rounding_method", w.nearest});
  if (method == "cubic") attrs.push_back({"cubic_alpha", w.cubic});
  // Of two pixels, one that is left out leaves the other one, which is that at the border.
  if (method == "cubic" && w.exclude_outside) attrs.push_back({"cubic_exclude", int64_t{1}});
  if (w.coordinates == "tf_crop_and_resize") {
    std::vector<double> sides(w.roi.begin() + 2, w.roi.begin() + static_cast<std::ptrdiff_t>(rank));
    sides.insert(sides.end(), w.roi.begin() + static_cast<std::ptrdiff_t>(rank) + 2, w.roi.end());
    attrs.push_back({"roi", sides});
    attrs.push_back({"extrapolation_value", w.extrapolation});
  }
  return {n.call(rank == 3 ? kResize1d : rank == 4 ? kResize2d : kResize3d, {x}, attrs)};
}

// Sets the size of an axis to extent * scale. If that is not whole, it is rounded down, and the
// scale is not the ratio of the sizes: then it is kept.
void scale_axis(Node& n, Wanted& w, size_t axis, double scale) {
  const Dim extent = w.size[axis];
  if (!(scale > 0) || scale > 65536) n.invalid("its scales are out of range");
  double part = 1;
  if (w.coordinates == "tf_crop_and_resize") part = w.roi[w.size.size() + axis] - w.roi[axis];
  if (part == 1 && scale == std::floor(scale)) {
    w.size[axis] = extent * Dim(static_cast<int64_t>(scale));
    return;
  }
  if (!extent.is_const()) {
    n.unsupported(cat("a scale of ", scale, " for an extent that is not known is not supported"),
                  "fix the dynamic axis with --input-shapes");
  }
  const double size = static_cast<double>(extent.value()) * scale * part;
  if (!(size >= 1 && size < 0x1p53)) {
    n.unsupported(cat("a scale of ", scale, " of ", extent.value(), " elements is not supported"),
                  "give sizes instead of scales");
  }
  // A scale is a float: the ratio of two integers, rounded.
  if (std::abs(size - std::round(size)) <= 1e-5 * std::max(1.0, size)) {
    w.size[axis] = Dim(static_cast<int64_t>(std::round(size)));
    if (part == 1) return;
  } else {
    w.size[axis] = Dim(static_cast<int64_t>(std::floor(size)));
  }
  w.scales.resize(w.size.size(), 0);
  w.scales[axis] = scale;
}

void scale_axes(Node& n, Wanted& w, const std::vector<double>& scales, const std::vector<size_t>& axes) {
  w.size = dims_of(n.input(0));
  n.require(scales.size() == axes.size(), "it has another number of scales than its input has dimensions");
  for (size_t i = 0; i < axes.size(); ++i) scale_axis(n, w, axes[i], scales[i]);
}

std::vector<double> scales_of(Node& n, size_t i) {
  const Tensor t = n.constant(i, "scales");
  n.require(t.dtype().is_float() && t.rank() == 1 && t.size() <= 64,
            "its scales must be a short list of floats");
  return t.doubles();
}

std::vector<size_t> all_axes(Node& n) {
  std::vector<size_t> out(n.rank(0));
  for (size_t i = 0; i < out.size(); ++i) out[i] = i;
  return out;
}

// Upsample, and Resize of version 10: positions are divided by the scale, and rounded down.
Wanted old_form(Node& n) {
  Wanted w;
  w.mode = n.text("mode", "nearest");
  w.coordinates = "asymmetric";
  w.nearest = "floor";
  return w;
}

Results upsample_attributes(Node& n) {
  Wanted w = old_form(n);
  const auto* a = n.attribute("scales");
  n.require(a != nullptr, "its attribute `scales` is missing");
  scale_axes(n, w, {a->floats().begin(), a->floats().end()}, all_axes(n));
  return resized(n, std::move(w));
}

Results upsample_sides(Node& n) {
  Wanted w = old_form(n);
  n.require(n.rank(0) == 4, "its input must have four dimensions");
  scale_axes(n, w, {1, 1, n.real("height_scale", 1), n.real("width_scale", 1)}, all_axes(n));
  return resized(n, std::move(w));
}

Results upsample(Node& n) {
  Wanted w = old_form(n);
  scale_axes(n, w, scales_of(n, 1), all_axes(n));
  return resized(n, std::move(w));
}

// One scale for all axes, so that none is larger than its size, or none smaller.
void keep_aspect_ratio(Node& n, Wanted& w, const std::vector<size_t>& axes, const std::string& policy) {
  n.require(policy == "not_larger" || policy == "not_smaller", "its keep_aspect_ratio_policy is unknown");
  const std::vector<Dim> from = dims_of(n.input(0));
  std::optional<double> scale;
  for (size_t axis : axes) {
    if (!from[axis].is_const() || !w.size[axis].is_const())
      n.unsupported("its keep_aspect_ratio_policy needs known extents",
                    "fix the dynamic axes with --input-shapes");
    n.require(from[axis].value() >= 1, "an image without pixels cannot be resized");
    const double ratio = static_cast<double>(w.size[axis].value()) / static_cast<double>(from[axis].value());
    scale = !scale ? ratio : policy == "not_larger" ? std::min(*scale, ratio) : std::max(*scale, ratio);
  }
  w.scales.assign(from.size(), 0);
  for (size_t axis : axes) {
    const double size = *scale * static_cast<double>(from[axis].value());
    n.require(size < 0x1p53, "its sizes are out of range");
    w.size[axis] = Dim(static_cast<int64_t>(std::floor(size + 0.5)));
    w.scales[axis] = *scale;
  }
}

Results resize(Node& n) {
  Wanted w;
  w.mode = n.text("mode", "nearest");
  w.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  w.nearest = n.text("nearest_mode", "round_prefer_floor");
  w.cubic = n.real("cubic_coeff_a", -0.75);
  w.exclude_outside = n.integer("exclude_outside", 0) != 0;
  w.antialias = n.integer("antialias", 0) != 0 && w.mode != "nearest";
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  std::vector<size_t> axes = all_axes(n);
  if (n.attribute("axes")) {
    axes = different_axes(n, n.integers("axes"), n.rank(0));
  }
  if (w.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = n.constant(1, "roi").doubles();
    n.require(roi.size() == 2 * axes.size(), "its roi must have a start and an end for each axis");
    const size_t rank = n.rank(0);
    w.roi.assign(rank, 0);
    w.roi.resize(2 * rank, 1);
    for (size_t i = 0; i < axes.size(); ++i) {
      w.roi[axes[i]] = roi[i];
      w.roi[rank + axes[i]] = roi[axes.size() + i];
    }
  }
  w.extrapolation = n.real("extrapolation_value", 0);
  // Old exporters give an empty list of scales where sizes are given.
  const auto empty = [&](size_t i) {
    const std::optional<Tensor> t = n.known(i);
    return !n.has(i) || (t && t->size() == 0);
  };
  if (!empty(3)) {
    std::vector<Dim> kept = dims_of(n.input(0));  // batch and channels
    if (axes != all_axes(n) || kept.size() < 2) kept.clear();
    kept.resize(std::min<size_t>(2, kept.size()));
    const std::optional<std::vector<Dim>> known = n.known_dims(3, "sizes");
    const std::vector<Dim> sizes = known ? *known : named_numbers(n, 3, "sizes", kept);
    n.require(sizes.size() == axes.size(), "it has another number of sizes than its input has dimensions");
    w.size = dims_of(n.input(0));
    for (size_t i = 0; i < axes.size(); ++i) w.size[axes[i]] = sizes[i];
    if (policy != "stretch") keep_aspect_ratio(n, w, axes, policy);
  } else {
    n.require(!empty(2), "it has neither scales nor sizes");
    scale_axes(n, w, scales_of(n, 2), axes);
  }
  return resized(n, std::move(w));
}

constexpr Row kRows[] = {
    {"Resize", 10, upsample},
    {"Resize", 11, resize, "open axes with antialias, a fractional scale or half_pixel_symmetric"},
    {"Upsample", 1, upsample_sides},
    {"Upsample", 7, upsample_attributes},
    {"Upsample", 9, upsample},
};

}  // namespace

std::span<const Row> resize_rows() { return kRows; }

}  // namespace relay::frontend
