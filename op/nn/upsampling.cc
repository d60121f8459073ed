// nn.upsampling(data): image.resize2d to the extents times the scales, rounded (halves to even)
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h * scale_h, w * scale_w), d]
//   C1: data has rank 4.
//   C2: the layout is an order of NCHW.
//   C3: the scales are positive and not above 65536, and whole where the extent is not known.
//   C4: method is nearest_neighbor, bilinear or bicubic; the others need a floating-point image.
//   C5: no extent is or becomes 0.
#include <cmath>

#include "base/cat.h"
#include "op/nn/window.h"
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

// The attributes of the resizing.
std::vector<AttrArg> resizing(const UpsamplingAttrs& a, const TensorType& x) {
  const std::array<Dim, 4> dims = parts(read_order("layout", a.layout, "NCHW"), x.dims);  // C2
  std::vector<Dim> size;
  for (size_t axis = 0; axis < 2; ++axis) {
    const double scale = axis == 0 ? a.scale_h : a.scale_w;
    const Dim extent = dims[2 + axis];
    if (!(scale > 0) || scale > 65536) {
      throw RelationError{kAttributes,
                          cat("a scale must be positive and not above 65536, not ", scale)};  // C3
    }
    if (scale == std::floor(scale)) {
      size.push_back(extent * Dim(static_cast<int64_t>(scale)));
    } else if (extent.is_const() && extent.value() < INT32_MAX) {
      size.push_back(static_cast<int64_t>(std::nearbyint(static_cast<double>(extent.value()) * scale)));
    } else {
      throw RelationError{kAttributes, cat("a scale of ", scale, " needs a known extent")};  // C3
    }
  }
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

}  // namespace relay::op
