#include "frontend/onnx/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace relay::frontend {
namespace {

using namespace op;

// The weight of an element at this distance from the place, in elements.
double hat(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

double cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

int64_t nearest_to(double place, const std::string& mode) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(place));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(place));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(place + 0.5));
  return static_cast<int64_t>(std::ceil(place - 0.5));
}

// The weights of the elements first, first + 1, ... at one place. They sum up to 1.
std::vector<double> weights_at(const ResizedAxis& axis, double place, int64_t first, int64_t count) {
  // Against aliasing, the filter is as wide as the distance of the places.
  const double narrow = axis.antialias ? std::min(axis.scale, 1.0) : 1.0;
  std::vector<double> out;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double distance = (static_cast<double>(first + i) - place) * narrow;
    const bool beyond = first + i < 0 || first + i >= axis.from;
    const double weight = axis.mode == "cubic" ? cubic(distance, axis.cubic) : hat(distance);
    out.push_back(axis.exclude_outside && beyond ? 0 : weight);
    sum += out.back();
  }
  for (double& w : out) w = sum == 0 ? 0 : w / sum;
  return out;
}

}  // namespace

double place_of(const ResizedAxis& axis, int64_t i) {
  const auto x = static_cast<double>(i), from = static_cast<double>(axis.from),
             to = static_cast<double>(axis.to);
  // The extent of the result before it is rounded, as in ONNX's own test cases.
  const double length = axis.scale * from * (axis.end - axis.start);
  if (axis.coordinates == "asymmetric") return x / axis.scale;
  if (axis.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (axis.coordinates == "align_corners") return length > 1 ? x * (from - 1) / (length - 1) : 0;
  if (axis.coordinates == "tf_crop_and_resize") {
    if (axis.to <= 1) return 0.5 * (axis.start + axis.end) * (from - 1);
    return axis.start * (from - 1) + x * (axis.end - axis.start) * (from - 1) / (length - 1);
  }
  if (axis.coordinates == "pytorch_half_pixel" && axis.to <= 1) return 0;
  const double half = (x + 0.5) / axis.scale - 0.5;
  // What rounding has cut off is cut off at both ends.
  if (axis.coordinates == "half_pixel_symmetric") return from / 2 * (1 - to / (from * axis.scale)) + half;
  return half;
}

std::optional<Taps> taps_of(const ResizedAxis& axis) {
  const double narrow = axis.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double wide = axis.mode == "nearest" ? 0 : std::ceil((axis.mode == "cubic" ? 2 : 1) / narrow);
  // A region from its end to its start, or of numbers that are none, has no such distance.
  if (!(wide >= 0 && 2 * wide <= static_cast<double>(kMostTaps))) return std::nullopt;
  const auto reach = static_cast<int64_t>(wide);
  const int64_t count = reach == 0 ? 1 : 2 * reach;
  Taps out;
  out.places.resize(static_cast<size_t>(count));
  out.weights.resize(static_cast<size_t>(count));
  bool any_outside = false;
  for (int64_t i = 0; i < axis.to; ++i) {
    double place = place_of(axis, i);
    const bool outside =
        axis.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.from - 1));
    any_outside = any_outside || outside;
    out.outside.push_back(outside);
    if (outside || !std::isfinite(place)) place = 0;
    place = std::clamp(place, -0x1p40, 0x1p40);
    const int64_t first =
        reach == 0 ? nearest_to(place, axis.nearest) : static_cast<int64_t>(std::floor(place)) - reach + 1;
    const std::vector<double> weights =
        reach == 0 ? std::vector<double>{1} : weights_at(axis, place, first, count);
    for (int64_t t = 0; t < count; ++t) {
      out.places[static_cast<size_t>(t)].push_back(std::clamp<int64_t>(first + t, 0, axis.from - 1));
      out.weights[static_cast<size_t>(t)].push_back(weights[static_cast<size_t>(t)]);
    }
  }
  if (!any_outside) out.outside.clear();
  return out;
}

namespace {

// Numbers along one axis, to broadcast with the tensor.
Expr along(Node& n, Tensor numbers, Expr like, size_t axis) {
  const auto behind = static_cast<int64_t>(type_of(like).rank() - axis - 1);
  const Expr e = n.builder().constant(std::move(numbers));
  return behind == 0 ? e : n.expand_dims(e, 1, behind);
}

}  // namespace

Expr with_taps(Node& n, Expr x, size_t axis, const Taps& taps, double extrapolation) {
  const DType dtype = type_of(x).dtype;
  const auto count = static_cast<int64_t>(taps.places[0].size());
  Expr y = nullptr;
  for (size_t t = 0; t < taps.places.size(); ++t) {
    const std::vector<double>& weights = taps.weights[t];
    if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) continue;
    Expr part = n.call(kTake, {x, n.ints(taps.places[t])},
                       {{"axis", static_cast<int64_t>(axis)}, {"mode", std::string("clip")}});
    if (!taps.one())
      part =
          n.call(kMultiply,
                 {part, along(n, Tensor::of(dtype, {count}, std::span<const double>(weights)), part, axis)});
    y = y ? n.call(kAdd, {y, part}) : part;
  }
  if (!y) n.unsupported("none of its weights differs from 0");
  if (taps.outside.empty()) return y;
  Tensor inside(kBool, {count});
  for (int64_t i = 0; i < count; ++i) inside.set_int(i, taps.outside[static_cast<size_t>(i)] ? 0 : 1);
  return n.call(kWhere, {along(n, std::move(inside), y, axis), y, n.scalar(dtype, extrapolation)});
}

}  // namespace relay::frontend
