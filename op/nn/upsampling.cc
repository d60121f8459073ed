// Upsampling: images and volumes of other extents, which are the old ones times the scales, rounded
// (halves to even).
//
//   nn.upsampling(data) = image.resize2d(data, to height * scale_h and width * scale_w)
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h * scale_h, w * scale_w), d]
//
//   nn.upsampling3d(data) = data resized along height and width, then along the depth, each as
//   image.resize2d does, and with half_pixel by the rounding_method "round"
//   (Tensor[(n, c, l, h, w), d]) -> Tensor[(n, c, l * scale_d, h * scale_h, w * scale_w), d]
//
//   C1: data has rank 4; rank 5 for volumes.
//   C2: the layout is an order of NCHW; of NCDHW for volumes.
//   C3: the scales are positive and not above 65536, and whole where the extent is not known.
//   C4: method is nearest_neighbor, bilinear or bicubic (for volumes nearest_neighbor or
//       trilinear); the others than nearest_neighbor need floating-point data.
//   C5: no extent is or becomes 0.
//   C6: coordinate_transformation_mode is half_pixel, align_corners or asymmetric.
#include <cmath>

#include "base/cat.h"
#include "op/nn/scale.h"
#include "op/nn/split_axes.h"
#include "op/nn/window.h"
#include "op/requirements.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct UpsamplingAttrs {
  double scale_h = 1, scale_w = 1;
  std::string layout = "NCHW";
  std::string method = "nearest_neighbor";
  bool align_corners = false;
  static constexpr auto kFields = fields(
      field("scale_h", &UpsamplingAttrs::scale_h, "of the height"),
      field("scale_w", &UpsamplingAttrs::scale_w, "of the width"),
      field("layout", &UpsamplingAttrs::layout, "an order of the letters NCHW"),
      field("method", &UpsamplingAttrs::method, "nearest_neighbor, bilinear or bicubic"),
      field("align_corners", &UpsamplingAttrs::align_corners,
            "the corners of image and result are the same pixels; else places are divided by the scale"));
};

// An extent times a scale.
Dim scaled(Dim extent, double scale) {
  if (!(scale > 0) || scale > kLargestScale)
    throw RelationError{kAttributes, cat("a scale must be positive and not above ",
                                         static_cast<int64_t>(kLargestScale), ", not ", scale)};  // C3
  if (scale == std::floor(scale)) return extent * Dim(static_cast<int64_t>(scale));
  if (extent.is_const() && extent.value() < INT32_MAX)
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(extent.value()) * scale));
  throw RelationError{kAttributes, cat("a scale of ", scale, " needs a known extent")};  // C3
}

// --- images --------------------------------------------------------------------------------------

// The attributes of the resizing.
std::vector<AttrArg> resizing(const UpsamplingAttrs& a, const TensorType& x) {
  const std::array<Dim, 4> dims = parts(read_order("layout", a.layout, "NCHW"), x.dims);  // C2
  const std::vector<Dim> size{scaled(dims[2], a.scale_h), scaled(dims[3], a.scale_w)};
  std::string method = a.method;
  if (method == "bilinear" || method == "bicubic") {
    method = method.substr(2);
  } else if (method != "nearest_neighbor") {
    throw RelationError{kAttributes, cat("method must be one of nearest_neighbor, bilinear, bicubic, not `",
                                         method, "`")};  // C4
  }
  return {{"size", size},
          {"layout", a.layout},
          {"method", method},
          {"coordinate_transformation_mode", std::string(a.align_corners ? "align_corners" : "asymmetric")},
          {"rounding_method", std::string()}};
}

Type relate(Relation& r, const UpsamplingAttrs& a) {
  r.require_rank(0, 4);                                                     // C1
  return kResize2d.relate(r, r.context().attrs(resizing(a, r.tensor(0))));  // C2, C3, C4, C5
}

Expr expand(Builder& b, const UpsamplingAttrs& a, const Site& c) {
  return call(b, kResize2d, {c.args[0]}, resizing(a, c.tensor(0)));
}

// --- volumes -------------------------------------------------------------------------------------

struct Upsampling3dAttrs {
  double scale_d = 1, scale_h = 1, scale_w = 1;
  std::string layout = "NCDHW";
  std::string method = "nearest_neighbor";
  std::string coordinate_transformation_mode = "half_pixel";
  static constexpr auto kFields =
      fields(field("scale_d", &Upsampling3dAttrs::scale_d, "of the depth"),
             field("scale_h", &Upsampling3dAttrs::scale_h, "of the height"),
             field("scale_w", &Upsampling3dAttrs::scale_w, "of the width"),
             field("layout", &Upsampling3dAttrs::layout, "an order of the letters NCDHW"),
             field("method", &Upsampling3dAttrs::method, "nearest_neighbor or trilinear"),
             field("coordinate_transformation_mode", &Upsampling3dAttrs::coordinate_transformation_mode,
                   "half_pixel, align_corners or asymmetric, as image.resize2d has them"));
};

// An image of the result of this size.
std::vector<AttrArg> resizing(const Upsampling3dAttrs& a, Dim height, Dim width) {
  return {{"size", std::vector<Dim>{height, width}},
          {"layout", std::string("NCHW")},
          {"method", std::string(a.method == "trilinear" ? "linear" : a.method)},
          {"coordinate_transformation_mode", a.coordinate_transformation_mode},
          {"rounding_method", std::string(a.coordinate_transformation_mode == "half_pixel" ? "round" : "")}};
}

Type relate_volume(Relation& r, const Upsampling3dAttrs& a) {
  r.require_rank(0, 5);  // C1
  const TensorType& x = r.tensor(0);
  const Layout layout = read_order("layout", a.layout, "NCDHW");  // C2
  const std::string& mode = a.coordinate_transformation_mode;
  r.require(a.method == "nearest_neighbor" || a.method == "trilinear", kAttributes,
            cat("method must be nearest_neighbor or trilinear, not `", a.method, "`"));  // C4
  if (a.method == "trilinear") r.require_float(0);                                       // C4
  r.require(mode == "half_pixel" || mode == "align_corners" || mode == "asymmetric", kAttributes,
            cat("coordinate_transformation_mode must be half_pixel, align_corners or asymmetric, not `", mode,
                "`"));  // C6
  std::vector<Dim> dims = layout.extents(x.dims);
  const double scales[] = {a.scale_d, a.scale_h, a.scale_w};
  for (size_t axis = 0; axis < 3; ++axis) {
    require_at_least(r, dims[2 + axis], 1, 0, "a volume without elements cannot be resized");  // C5
    r.require(!dims[2 + axis].is_unknown(), 0,
              cat("the ", name_of_axis(axis, 3), " of the data must be known"));  // C3
    dims[2 + axis] = scaled(dims[2 + axis], scales[axis]);                        // C3
    r.require(dims[2 + axis] != Dim(0), kAttributes,
              cat("the ", name_of_axis(axis, 3), " would become 0"));  // C5
  }
  return r.tensor_of(layout.shape(dims), x.dtype);
}

// The slices of a channel are images of their own; then a slice is a row.
Expr expand_volume(Builder& b, const Upsampling3dAttrs& a, const Site& c) {
  const Layout layout = read_order("layout", a.layout, "NCDHW");
  const std::vector<Dim> from = layout.extents(c.tensor(0).dims);
  const Dim depth = scaled(from[2], a.scale_d), height = scaled(from[3], a.scale_h),
            width = scaled(from[4], a.scale_w);
  Expr x = merge_axes(b, transposed(b, c.args[0], axes_to_plain(layout)), 1);
  x = call(b, kResize2d, {x}, resizing(a, height, width));
  x = merge_axes(b, split_axis(b, x, 1, from[1].is_unknown() ? Dim(-1) : from[1], from[2]), 3);
  x = call(b, kResize2d, {x}, resizing(a, depth, tensor_type_of(x).dims[3]));
  return transposed(b, split_axis(b, x, 3, height, width), axes_from_plain(layout));
}

int64_t volume_length(std::span<const Type>, const Attrs& attrs) {
  const Upsampling3dAttrs a = read_attrs<Upsampling3dAttrs>(attrs);
  const std::string& method = a.method;  // g++ 12 warns of a copy, which it takes for uninitialised
  return method == "nearest_neighbor" ? 0 : 16;
}

int64_t length(std::span<const Type>, const Attrs& attrs) {
  const UpsamplingAttrs a = read_attrs<UpsamplingAttrs>(attrs);
  const std::string& method = a.method;  // g++ 12 warns of a copy, which it takes for uninitialised
  return method == "nearest_neighbor" ? 0 : method == "bilinear" ? 8 : 128;
}

}  // namespace

const OpDef kUpsampling = define<UpsamplingAttrs>({
    .name = "nn.upsampling",
    .doc = "Enlarge images by given scales.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .relate = relate,
    .expand = expand,
});

const OpDef kUpsampling3d = define<Upsampling3dAttrs>({
    .name = "nn.upsampling3d",
    .doc = "Enlarge volumes by given scales.",
    .params = {{"data", "a batch of volumes"}},
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = volume_length},
    .relate = relate_volume,
    .expand = expand_volume,
});

}  // namespace relay::op
