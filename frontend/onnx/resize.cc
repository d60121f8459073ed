// Resize and Upsample: images of another size.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/node.h"

namespace relay::frontend {
namespace {

using namespace op;

struct Wanted {
  std::vector<Dim> size;  // of every axis
  std::string mode, coordinates, nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false;
};

Results resized(Node& n, Wanted w) {
  const Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x);
  if (from == w.size) return {x};
  if (from.size() != 3 && from.size() != 4) {
    n.unsupported(cat("resizing ", from.size(), " dimensions is not supported"),
                  "images with one or two spatial axes are");
  }
  if (w.size[0] != from[0] || w.size[1] != from[1])
    n.unsupported("resizing batch or channels is not supported");
  std::string method;
  if (w.mode == "nearest") method = "nearest_neighbor";
  if (w.mode == "linear" || w.mode == "bilinear") method = "linear";
  if (w.mode == "cubic") method = "cubic";
  if (method.empty()) n.invalid(cat("its mode `", w.mode.substr(0, 40), "` is unknown"));
  const auto known = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
  if (std::find(known.begin(), known.end(), w.coordinates) == known.end()) {
    n.unsupported(cat("coordinate_transformation_mode `", w.coordinates.substr(0, 40), "` is not supported"),
                  "half_pixel, asymmetric, align_corners and pytorch_half_pixel are");
  }
  if (w.exclude_outside) n.unsupported("exclude_outside=1 is not supported");
  const bool line = from.size() == 3;
  std::vector<Dim> size(w.size.begin() + 2, w.size.end());
  if (line) size.insert(size.begin(), Dim(1));
  std::vector<AttrArg> attrs{{"size", size},
                             {"layout", std::string("NCHW")},
                             {"method", method},
                             {"coordinate_transformation_mode", w.coordinates}};
  if (method == "nearest_neighbor") attrs.push_back({"rounding_method", w.nearest});
  if (method == "cubic") attrs.push_back({"cubic_alpha", w.cubic});
  const Expr y = n.call(kResize2d, {line ? n.expand_dims(x, 2) : x}, attrs);
  return {line ? n.squeeze(y, {2}) : y};
}

// extent * scale, if that is whole: only then the scale is the ratio of the sizes, which is all
// that operators know.
Dim scaled(Node& n, Dim extent, double scale) {
  if (!(scale > 0) || scale > 65536) n.invalid("its scales are out of range");
  if (scale == 1) return extent;
  if (scale == std::floor(scale)) return extent * Dim(static_cast<int64_t>(scale));
  if (extent.is_const()) {
    const double size = static_cast<double>(extent.value()) * scale;
    // A scale is a float: the ratio of two integers, rounded. Beyond 2^53 every double is whole.
    if (size < 0x1p53 && std::abs(size - std::round(size)) <= 1e-5 * std::max(1.0, size))
      return Dim(static_cast<int64_t>(std::round(size)));
    n.unsupported(cat("a scale of ", scale, " does not make a whole size of ", extent.value()),
                  "give sizes instead of scales");
  }
  n.unsupported(cat("a scale of ", scale, " for an extent that is not known is not supported"),
                "fix the dynamic axis with --input-shapes");
}

std::vector<Dim> sizes_by_scale(Node& n, const std::vector<double>& scales, const std::vector<size_t>& axes) {
  std::vector<Dim> size = dims_of(n.input(0));
  n.require(scales.size() == axes.size(), "it has another number of scales than its input has dimensions");
  for (size_t i = 0; i < axes.size(); ++i) size[axes[i]] = scaled(n, size[axes[i]], scales[i]);
  return size;
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
  w.size = sizes_by_scale(n, {a->floats().begin(), a->floats().end()}, all_axes(n));
  return resized(n, std::move(w));
}

Results upsample(Node& n) {
  Wanted w = old_form(n);
  w.size = sizes_by_scale(n, scales_of(n, 1), all_axes(n));
  return resized(n, std::move(w));
}

Results resize(Node& n) {
  Wanted w;
  w.mode = n.text("mode", "nearest");
  w.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  w.nearest = n.text("nearest_mode", "round_prefer_floor");
  w.cubic = n.real("cubic_coeff_a", -0.75);
  w.exclude_outside = n.integer("exclude_outside", 0) != 0;
  if (n.integer("antialias", 0) != 0) n.unsupported("antialias=1 is not supported");
  if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    n.unsupported("only keep_aspect_ratio_policy=stretch is supported");
  std::vector<size_t> axes = all_axes(n);
  if (n.attribute("axes")) {
    const size_t rank = axes.size();
    axes.clear();
    for (int64_t a : n.integers("axes")) axes.push_back(n.axis(a, rank));
  }
  // Old exporters give an empty list of scales where sizes are given.
  const auto empty = [&](size_t i) {
    const std::optional<Tensor> t = n.known(i);
    return !n.has(i) || (t && t->size() == 0);
  };
  if (!empty(3)) {
    const std::vector<Dim> sizes = n.dims(3, "sizes");
    n.require(sizes.size() == axes.size(), "it has another number of sizes than its input has dimensions");
    w.size = dims_of(n.input(0));
    for (size_t i = 0; i < axes.size(); ++i) w.size[axes[i]] = sizes[i];
  } else {
    n.require(!empty(2), "it has neither scales nor sizes");
    w.size = sizes_by_scale(n, scales_of(n, 2), axes);
  }
  return resized(n, std::move(w));
}

constexpr Row kRows[] = {
    {"Resize", 10, upsample},
    {"Resize", 11, resize},
    {"Upsample", 7, upsample_attributes},
    {"Upsample", 9, upsample},
};

}  // namespace

std::span<const Row> resize_rows() { return kRows; }

}  // namespace relay::frontend
