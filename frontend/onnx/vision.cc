// Images at other places, regions of images, boxes: GridSample, AffineGrid, RoiAlign, MaxRoiPool,
// NonMaxSuppression.
#include <limits>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/resize_taps.h"
#include "frontend/onnx/roi_maximum.h"

namespace relay::frontend {
namespace {

using namespace op;

constexpr size_t kLongestWord = 40;  // of a model, in a message

void require_floats(Node& n, size_t i, std::string_view what) {
  if (!n.dtype(i).is_float()) n.unsupported(cat(what, " of ", n.dtype(i).name(), " are not supported"));
}

// --- GridSample, AffineGrid ----------------------------------------------------------------------

// ONNX has the numbers of a place along the last axis, the operators have them
// along the second one.
std::vector<int64_t> places_second(size_t rank) {
  std::vector<int64_t> axes{0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 1; d + 1 < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

Results grid_sample(Node& n) {
  const size_t rank = n.rank(0);
  if (rank != 4 && rank != 5)
    n.unsupported(cat("a grid for ", rank, " dimensions is not supported"), "images and volumes are");
  n.require(n.rank(1) == rank, "its grid has another number of dimensions than its input");
  require_floats(n, 0, "images");
  require_floats(n, 1, "grids");
  const std::string mode = n.text("mode", n.opset() < 20 ? "bilinear" : "linear");
  std::string method;
  if (mode == "nearest") method = "nearest";
  if (mode == "linear" || mode == "bilinear") method = "bilinear";
  if (mode == "cubic" || mode == "bicubic") method = "bicubic";
  if (method.empty()) n.invalid(cat("its mode `", mode.substr(0, kLongestWord), "` is unknown"));
  if (method == "bicubic" && rank == 5) n.unsupported("mode=cubic is not supported for volumes", "linear is");
  const std::string padding = n.text("padding_mode", "zeros");
  n.require(padding == "zeros" || padding == "border" || padding == "reflection",
            "its padding_mode is unknown");
  return {n.call(kGridSample, {n.input(0), n.transpose(n.input(1), places_second(rank))},
                 {{"method", method},
                  {"layout", std::string(rank == 4 ? "NCHW" : "NCDHW")},
                  {"padding_mode", padding},
                  {"align_corners", n.integer("align_corners", 0) != 0}})};
}

Results affine_grid(Node& n) {
  // Of an image theta has two rows, and of a volume three; the size has batch and channels besides.
  const Dim rows = n.rank(0) == 3 ? n.tensor(0).dims[1] : Dim::unknown();
  const bool tells = rows == Dim(2) || rows == Dim(3);
  std::vector<Dim> size =
      tells ? extents_at(n, 1, "size", static_cast<size_t>(rows.value()) + 2) : n.dims(1, "size");
  n.require(size.size() == 4 || size.size() == 5, "its size must be of an image or a volume");
  n.require(n.rank(0) == 3, "its theta must have three dimensions");
  require_floats(n, 0, "maps");
  size.erase(size.begin(), size.begin() + 2);
  Expr map = n.input(0);
  if (n.integer("align_corners", 0) == 0) {
    // The outer sides of the pixels are -1 and 1, and so their centres are a little inside. Columns
    // are in the order x, y, z, and the last one moves.
    static constexpr double kOne[] = {1};
    std::vector<Expr> shares;
    for (size_t d = size.size(); d-- > 0;) {
      n.require(!size[d].is_const() || size[d].value() >= 1, "its size has an extent without pixels");
      const Expr extent = n.reshape(real_extent(n, size[d]), {Dim(1)});
      shares.push_back(n.call(kDivide, {n.call(kSubtract, {extent, n.scalar(kFloat64, 1)}), extent}));
    }
    shares.push_back(n.builder().constant(Tensor::of(kFloat64, {1}, std::span<const double>(kOne))));
    map = n.call(kMultiply, {map, folded(n, n.cast(n.concatenate(shares, 0), type_of(map).dtype))});
  }
  const Expr grid = n.call(kAffineGrid, {map}, {{"target_shape", size}});
  std::vector<int64_t> back{0};
  for (size_t d = 0; d < size.size(); ++d) back.push_back(static_cast<int64_t>(d) + 2);
  back.push_back(1);
  return {n.transpose(grid, back)};
}

// --- RoiAlign, MaxRoiPool ------------------------------------------------------------------------

Results roi_align(Node& n) {
  n.require(n.rank(0) == 4 && n.rank(1) == 2 && n.rank(2) == 1,
            "its input must be images, with rows of regions and an index for each");
  require_floats(n, 0, "images");
  require_floats(n, 1, "regions");
  const std::string mode = n.text("mode", "avg");
  n.require(mode == "avg" || mode == "max", "its mode is unknown");
  const std::string places =
      n.opset() < 16 ? "output_half_pixel" : n.text("coordinate_transformation_mode", "half_pixel");
  n.require(places == "half_pixel" || places == "output_half_pixel",
            "its coordinate_transformation_mode is unknown");
  const int64_t ratio = n.integer("sampling_ratio", 0);
  if (ratio > 1024) n.unsupported("a sampling_ratio above 1024 is not supported");
  // A float16 has no room for the index of an image.
  const DType dtype = n.dtype(1).bits < 32 ? kFloat32 : n.dtype(1);
  if (mode == "max") {
    const RoiBins bins{n.integer("output_height", 1), n.integer("output_width", 1), ratio,
                       n.real("spatial_scale", 1), places == "half_pixel"};
    if (ratio < 1) n.unsupported("mode=max without a sampling_ratio is not supported", "sampling_ratio=2 is");
    constexpr int64_t kMost = 4096;
    n.require(bins.height >= 1 && bins.height <= kMost && bins.width >= 1 && bins.width <= kMost,
              "its output_height or output_width is out of range");
    return {roi_maximum(n, n.input(0), n.cast(n.input(1), dtype), n.cast(n.input(2), kInt64), bins)};
  }
  const Expr images = n.expand_dims(n.cast(n.input(2), dtype), 1);
  const Expr rois = n.concatenate({images, n.cast(n.input(1), dtype)}, 1);
  return {n.call(
      kRoiAlign, {n.input(0), rois},
      {{"pooled_size", std::vector<int64_t>{n.integer("output_height", 1), n.integer("output_width", 1)}},
       {"spatial_scale", n.real("spatial_scale", 1)},
       {"sample_ratio", ratio},
       {"aligned", places == "half_pixel"}})};
}

Results max_roi_pool(Node& n) {
  n.require(n.rank(0) == 4 && n.rank(1) == 2, "its input must be images and rows of regions");
  require_floats(n, 0, "images");
  const std::vector<int64_t> size = n.integers("pooled_shape");
  n.require(size.size() == 2, "its pooled_shape must be a height and a width");
  return {n.call(kRoiPool, {n.input(0), n.input(1)},
                 {{"pooled_size", size}, {"spatial_scale", n.real("spatial_scale", 1)}})};
}

// --- NonMaxSuppression ---------------------------------------------------------------------------

// The corners of boxes that are given by their centres and their extents.
Expr corners(Node& n, Expr boxes) {
  const Expr centre = n.slice(boxes, 2, 0, 2);
  const Expr half = n.call(kMultiply, {n.slice(boxes, 2, 2, 4), n.scalar(type_of(boxes).dtype, 0.5)});
  return n.concatenate({n.call(kSubtract, {centre, half}), n.call(kAdd, {centre, half})}, 2);
}

Results non_max_suppression(Node& n) {
  n.require(n.rank(0) == 3 && n.rank(1) == 3, "its boxes and scores must have three dimensions");
  require_floats(n, 0, "boxes");
  require_floats(n, 1, "scores");
  const int64_t centred = n.integer("center_point_box", 0);
  n.require(centred == 0 || centred == 1, "its center_point_box is neither 0 nor 1");
  const auto number = [&](size_t i, DType dtype, double otherwise) {
    return n.has(i) ? n.reshape(n.input(i), {}) : n.scalar(dtype, otherwise);
  };
  const Expr boxes = centred ? corners(n, n.input(0)) : n.input(0);
  const Expr found =
      n.call(kAllClassNonMaxSuppression, {boxes, n.input(1), number(2, kInt64, 0), number(3, kFloat32, 0),
                                          number(4, kFloat32, -std::numeric_limits<double>::infinity())});
  // As many rows as boxes were found.
  const Expr count = n.reshape(n.proj(found, 1), {});
  const Expr rows = n.call(kArange, {n.scalar(kInt64, 0), count, n.scalar(kInt64, 1)});
  return {n.call(kTake, {n.proj(found, 0), rows}, {{"axis", int64_t{0}}})};
}

constexpr Row kRows[] = {
    {"AffineGrid", 20, affine_grid},
    {"GridSample", 16, grid_sample, "cubic volumes"},
    {"MaxRoiPool", 1, max_roi_pool},
    {"NonMaxSuppression", 10, non_max_suppression},
    {"RoiAlign", 10, roi_align, "mode=max without a sampling_ratio"},
};

}  // namespace

std::span<const Row> vision_rows() { return kRows; }

}  // namespace relay::frontend
