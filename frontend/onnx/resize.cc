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
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false;
  std::vector<double> roi;  // the starts of all axes, then the ends; empty unless places come from it
};

// What the operator calls a way to find places.
std::string coordinates_of(Node& n, const Wanted& w) {
  // It differs from half_pixel where an extent times a scale is not whole, which `scaled` refuses.
  if (w.coordinates == "half_pixel_symmetric") return "half_pixel";
  const auto known = {"half_pixel",         "asymmetric",           "align_corners",
                      "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  if (std::find(known.begin(), known.end(), w.coordinates) == known.end()) {
    n.unsupported(cat("coordinate_transformation_mode `", w.coordinates.substr(0, 40), "` is not supported"),
                  "half_pixel, asymmetric, align_corners and pytorch_half_pixel are");
  }
  return w.coordinates;
}

Results resized(Node& n, Wanted w) {
  const Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x);
  const std::string coordinates = coordinates_of(n, w);
  if (from == w.size && coordinates != "tf_crop_and_resize" && coordinates != "tf_half_pixel_for_nn")
    return {x};
  const size_t rank = from.size();
  if (rank < 3 || rank > 5) {
    n.unsupported(cat("resizing ", rank, " dimensions is not supported"),
                  "images with one, two or three spatial axes are");
  }
  if (w.size[0] != from[0] || w.size[1] != from[1])
    n.unsupported("resizing batch or channels is not supported");
  std::string method;
  if (w.mode == "nearest") method = "nearest_neighbor";
  if (w.mode == "linear" || w.mode == "bilinear") method = "linear";
  if (w.mode == "cubic") method = "cubic";
  if (method.empty()) n.invalid(cat("its mode `", w.mode.substr(0, 40), "` is unknown"));
  std::vector<AttrArg> attrs{{"size", std::vector<Dim>(w.size.begin() + 2, w.size.end())},
                             {"method", method},
                             {"coordinate_transformation_mode", coordinates}};
  if (method == "nearest_neighbor") attrs.push_back({"rounding_method", w.nearest});
  if (method == "cubic") attrs.push_back({"cubic_alpha", w.cubic});
  // Of two pixels, one that is left out leaves the other one, which is that at the border.
  if (method == "cubic" && w.exclude_outside) attrs.push_back({"cubic_exclude", int64_t{1}});
  if (coordinates == "tf_crop_and_resize") {
    n.require(w.roi.size() == 2 * rank, "its roi must have a start and an end for each axis");
    if (w.roi[0] != 0 || w.roi[1] != 0 || w.roi[rank] != 1 || w.roi[rank + 1] != 1)
      n.unsupported("a roi of batch or channels is not supported");
    std::vector<double> sides(w.roi.begin() + 2, w.roi.begin() + static_cast<std::ptrdiff_t>(rank));
    sides.insert(sides.end(), w.roi.begin() + static_cast<std::ptrdiff_t>(rank) + 2, w.roi.end());
    attrs.push_back({"roi", sides});
    attrs.push_back({"extrapolation_value", w.extrapolation});
  }
  return {n.call(rank == 3 ? kResize1d : rank == 4 ? kResize2d : kResize3d, {x}, attrs)};
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

Results upsample_sides(Node& n) {
  Wanted w = old_form(n);
  n.require(n.rank(0) == 4, "its input must have four dimensions");
  w.size = sizes_by_scale(n, {1, 1, n.real("height_scale", 1), n.real("width_scale", 1)}, all_axes(n));
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
    w.extrapolation = n.real("extrapolation_value", 0);
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
    {"Upsample", 1, upsample_sides},
    {"Upsample", 7, upsample_attributes},
    {"Upsample", 9, upsample},
};

}  // namespace

std::span<const Row> resize_rows() { return kRows; }

}  // namespace relay::frontend
