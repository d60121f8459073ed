// com.microsoft: elements that change their places. Most are older forms of ONNX's own operators.
#include "frontend/onnx/contributed.h"

namespace relay::frontend {
namespace {

using namespace op;

Results gather_nd(Node& n) { return n.convert_as("GatherND", 11); }
Results triangle(Node& n) { return n.convert_as("Trilu", 14); }
Results pad(Node& n) { return n.convert_as("Pad", 11); }

Results expand_dims(Node& n) {
  const int64_t rank = static_cast<int64_t>(n.rank(0)), axis = n.constant_int(1, "axis");
  n.require(axis >= -rank - 1 && axis <= rank, "its axis is out of range");
  return {n.expand_dims(n.input(0), axis < 0 ? axis + rank + 1 : axis)};
}

// Without a step it is 1.
Results range(Node& n) {
  if (n.has(2)) return n.convert_as("Range", 11);
  const Expr first = n.reshape(n.input(0), {}), last = n.reshape(n.input(1), {});
  return {n.call(kArange, {first, last, n.scalar(n.dtype(0), 1)}, {{"dtype", n.dtype(0)}})};
}

// Elements in the order in which they come first, where each input element is among them, and how
// often it is there.
Results unique(Node& n) {
  n.require(n.rank(0) == 1, "its input must have one dimension");
  const Expr all = n.call(kUnique, {n.input(0)}, {{"sorted", false}, {"return_counts", true}});
  // The operator pads its results; how many are no padding is known when the model runs.
  const Expr number = n.reshape(n.proj(all, 3), {});
  const Expr places = n.call(kArange, {n.scalar(kInt32, 0), number, n.scalar(kInt32, 1)});
  const auto part = [&](uint32_t i) {
    return n.call(kTake, {n.proj(all, i), places}, {{"axis", int64_t{0}}});
  };
  return {part(0), n.cast(n.proj(all, 2), kInt64), n.cast(part(4), kInt64)};
}

// Boxes are (y1, x1, y2, x2) with 0 and 1 at the middles of the outermost pixels.
Results crop_and_resize(Node& n) {
  const std::vector<int64_t> size = n.constant_ints(3, "crop size");
  n.require(size.size() == 2, "its crop size must be a height and a width");
  const std::string mode = n.text("mode", "bilinear");
  n.require(mode == "bilinear" || mode == "nearest", "its attribute `mode` is neither bilinear nor nearest");
  return {n.call(kCropAndResize, {n.input(0), n.input(1), n.cast(n.input(2), kInt32)},
                 {{"crop_size", size},
                  {"layout", std::string("NCHW")},
                  {"method", std::string(mode == "bilinear" ? "bilinear" : "nearest_neighbor")},
                  {"extrapolation_value", n.real("extrapolation_value", 0)}})};
}

constexpr Row kRows[] = {
    {"com.microsoft.CropAndResize", 1, crop_and_resize},
    {"com.microsoft.ExpandDims", 1, expand_dims},
    {"com.microsoft.GatherND", 1, gather_nd},
    {"com.microsoft.Pad", 1, pad},
    {"com.microsoft.Range", 1, range},
    {"com.microsoft.Trilu", 1, triangle},
    {"com.microsoft.Unique", 1, unique},
};

}  // namespace

std::span<const Row> ms_movement_rows() { return kRows; }

}  // namespace relay::frontend
