// dyn.image.resize2d(data, size, roi) = image.resize2d(data, size=size)
//
//   (Tensor[(n, c, h, w), d], Tensor[(2), e], Tensor[(k), f]) -> Tensor[(?, ?, ?, ?), d]
//   C1: size is a vector of two integers.
//   C2: roi is a vector of floating-point numbers. It means nothing: it is there for the coordinate
//       transformation tf_crop_and_resize, which must not be chosen.
//   C3: the attributes size and roi are empty.
//   C4: what else image.resize2d asks of the image and of the other attributes.
//
// A run traps if an extent of the size is not positive.
//
// dyn.nn.upsampling(data, scale_h, scale_w) = image.resize2d of data to the extents times the
//     scales, rounded (halves to even)
//
//   (Tensor[(n, c, h, w), d], Tensor[(), e], Tensor[(), e]) -> Tensor[(?, ?, ?, ?), d]
//   C1: the scales are floating-point numbers of rank 0; the attributes of their names are 0.
//   C2: what else nn.upsampling asks of the image and of the attributes.
//
// A run traps if a scale is not positive or is above 65536, or if an extent becomes 0.
#include <array>
#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "op/domain.h"
#include "op/dyn/shapes.h"
#include "op/nn/scale.h"
#include "op/nn/window.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"

namespace relay::op {
namespace {

struct DynResize2dAttrs {
  std::optional<std::vector<Dim>> size = {};
  std::optional<std::vector<double>> roi = {};
  std::string layout = "NCHW";
  std::string method = "linear";
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round";
  double cubic_alpha = -0.5;
  int64_t cubic_exclude = 0;
  double extrapolation_value = 0;
  MaybeDType out_dtype = {};
  static constexpr auto kFields =
      fields(field("size", &DynResize2dAttrs::size, "must be empty: the argument of that name stands for it"),
             field("roi", &DynResize2dAttrs::roi, "must be empty"),
             field("layout", &DynResize2dAttrs::layout, "an order of the letters NCHW"),
             field("method", &DynResize2dAttrs::method, "nearest_neighbor, linear or cubic"),
             field("coordinate_transformation_mode", &DynResize2dAttrs::coordinate_transformation_mode,
                   "as for image.resize2d"),
             field("rounding_method", &DynResize2dAttrs::rounding_method, "as for image.resize2d"),
             field("cubic_alpha", &DynResize2dAttrs::cubic_alpha, "the slope of the cubic"),
             field("cubic_exclude", &DynResize2dAttrs::cubic_exclude, "must be 0"),
             field("extrapolation_value", &DynResize2dAttrs::extrapolation_value,
                   "unused, as nothing is outside without a crop"),
             field("out_dtype", &DynResize2dAttrs::out_dtype, "must be the data's"));
};

struct DynUpsamplingAttrs {
  double scale_h = 0, scale_w = 0;
  std::string layout = "NCHW";
  std::string method = "nearest_neighbor";
  bool align_corners = false;
  static constexpr auto kFields = fields(
      field("scale_h", &DynUpsamplingAttrs::scale_h, "must be 0: the argument of that name stands for it"),
      field("scale_w", &DynUpsamplingAttrs::scale_w, "likewise"),
      field("layout", &DynUpsamplingAttrs::layout, "an order of the letters NCHW"),
      field("method", &DynUpsamplingAttrs::method, "nearest_neighbor, bilinear or bicubic"),
      field("align_corners", &DynUpsamplingAttrs::align_corners,
            "the corners of image and result are the same pixels; else places are divided by the scale"));
};

constexpr std::string_view kNoPixels = "the result would have no pixels";
constexpr std::string_view kBadScale = "a scale is not positive, or above 65536";

// The attributes of image.resize2d but for the size, in the place of which stands 1 x 1: the shape
// of the result says it.
std::vector<AttrArg> resizing(const DynResize2dAttrs& a) {
  std::vector<AttrArg> out = {{"size", std::vector<int64_t>{1, 1}},
                              {"layout", a.layout},
                              {"method", a.method},
                              {"coordinate_transformation_mode", a.coordinate_transformation_mode},
                              {"rounding_method", a.rounding_method},
                              {"cubic_alpha", a.cubic_alpha},
                              {"cubic_exclude", a.cubic_exclude},
                              {"extrapolation_value", a.extrapolation_value}};
  if (a.out_dtype.given) out.push_back({"out_dtype", *a.out_dtype.given});
  return out;
}

std::vector<AttrArg> resizing(const DynUpsamplingAttrs& a) {
  const bool weighs = a.method.starts_with("bi");
  return {{"size", std::vector<int64_t>{1, 1}},
          {"layout", a.layout},
          {"method", weighs ? a.method.substr(2) : a.method},
          {"coordinate_transformation_mode", std::string(a.align_corners ? "align_corners" : "asymmetric")},
          {"rounding_method", std::string()}};
}

template <class A>
Type relate_image(Relation& r, const A& a) {
  const auto* t = kResize2d.relate(r, r.context().attrs(resizing(a)))->template as<TensorType>();
  return sized_by_data(r, 4, t->dtype);
}

Type relate_resize(Relation& r, const DynResize2dAttrs& a) {
  r.require(known_length(r, 1, "height and width") == 2, 1, "expected two extents");  // C1
  r.require_rank(2, 1);                                                               // C2
  require(r, 2, Domain::kFloat);                                                      // C2
  r.require(a.coordinate_transformation_mode != "tf_crop_and_resize", kAttributes,
            "tf_crop_and_resize needs a roi that is known when the program is compiled");  // C2
  require_empty(r, a.size, "size");                                                        // C3
  r.require(!a.roi || a.roi->empty(), kAttributes, "roi must be empty");                   // C3
  return relate_image(r, a);                                                               // C4
}

Type relate_upsampling(Relation& r, const DynUpsamplingAttrs& a) {
  for (int i : {1, 2}) {
    r.require_rank(i, 0);           // C1
    require(r, i, Domain::kFloat);  // C1
  }
  r.require(a.scale_h == 0 && a.scale_w == 0, kAttributes,
            "scale_h and scale_w must be 0: arguments stand for them");  // C1
  r.require(a.method == "nearest_neighbor" || a.method == "bilinear" || a.method == "bicubic", kAttributes,
            cat("method must be one of nearest_neighbor, bilinear, bicubic, not `", a.method, "`"));  // C2
  return relate_image(r, a);                                                                          // C2
}

// The result's shape: the image's, with another height and width.
Shape resized(const std::string& layout, const Shape& x, int64_t height, int64_t width) {
  const Layout order = read_order("layout", layout, "NCHW");
  std::array<int64_t, 4> dims = parts(order, x);
  if (height <= 0 || width <= 0) throw Trap(std::string(kNoPixels));
  dims[2] = height;
  dims[3] = width;
  return order.shape(dims);
}

void evaluate_resize(const DynResize2dAttrs& a, Args in, Results out, Sums sums) {
  const std::vector<int64_t> size = elements_of(in[1]);
  out[0] = sized(in[0].dtype(), resized(a.layout, in[0].shape(), size[0], size[1]));
  evaluate_as(kResize2d, resizing(a), in.first(1), out, sums);
}

void evaluate_upsampling(const DynUpsamplingAttrs& a, Args in, Results out, Sums sums) {
  const std::array<int64_t, 4> dims = parts(read_order("layout", a.layout, "NCHW"), in[0].shape());
  std::array<int64_t, 2> size{};
  for (size_t axis = 0; axis < 2; ++axis) {
    const double scale = in[1 + axis].get(0);
    if (!(scale > 0) || scale > kLargestScale) throw Trap(std::string(kBadScale));
    size[axis] = static_cast<int64_t>(std::nearbyint(static_cast<double>(dims[2 + axis]) * scale));
    // Before the other scale is looked at, as a kernel does.
    if (size[axis] <= 0) throw Trap(std::string(kNoPixels));
  }
  out[0] = sized(in[0].dtype(), resized(a.layout, in[0].shape(), size[0], size[1]));
  evaluate_as(kResize2d, resizing(a), in.first(1), out, sums);
}

kernel::Tensor extents_of_image(kernel::Builder& k, const std::string& layout, const Lowering& c,
                                const std::function<kernel::Expr(size_t axis, kernel::Expr extent)>& size) {
  return extents_vector(k, 4, [&] {
    const Layout order = read_order("layout", layout, "NCHW");
    std::array<kernel::Expr, 4> dims = parts(order, c.in[0].shape());
    for (size_t axis = 0; axis < 2; ++axis) {
      dims[2 + axis] = size(axis, dims[2 + axis]);
      k.require(less(k.index(0), dims[2 + axis]), kNoPixels);
    }
    return order.shape(dims);
  });
}

kernel::Tensor extents_of_resize(kernel::Builder& k, const DynResize2dAttrs& a, const Lowering& c) {
  return extents_of_image(k, a.layout, c,
                          [&](size_t axis, kernel::Expr) { return element_of(k, c.in[1], axis); });
}

kernel::Tensor extents_of_upsampling(kernel::Builder& k, const DynUpsamplingAttrs& a, const Lowering& c) {
  return extents_of_image(k, a.layout, c, [&](size_t axis, kernel::Expr extent) {
    const kernel::Expr scale = cast(kFloat64, c.in[1 + axis]());
    const auto number = [&](double v) { return k.constant(kFloat64, v); };
    k.require(logical_and(less(number(0), scale), less_equal(scale, number(kLargestScale))), kBadScale);
    return cast(kInt64, math(kernel::Math::kRound, cast(kFloat64, extent) * scale));
  });
}

template <class A>
std::vector<kernel::Tensor> lower_image(kernel::Builder& k, const A& a, const Lowering& c) {
  return lower_as(kResize2d, resizing(a), k, c, 1);
}

// As for image.resize2d.
template <class A>
int64_t length_of(std::span<const Type> args, const Attrs& attrs) {
  Context scratch;
  return kResize2d.tolerance.length(args.first(1), scratch.attrs(resizing(read_attrs<A>(attrs))));
}

template <class A>
void terms_of(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  Context scratch;
  kResize2d.tolerance.terms(scratch.attrs(resizing(read_attrs<A>(attrs))), in.first(1), out);
}

constexpr std::string_view kNoGradient =
    "the adjoint, which spreads a pixel over its neighbours, is not offered";

}  // namespace

const OpDef kDynResize2d = define<DynResize2dAttrs>({
    .name = "dyn.image.resize2d",
    .doc = "Images of another size, which only a run tells.",
    .params = {{"data", "a batch of images"},
               {"size", "height and width of the result"},
               {"roi", "means nothing: nothing is cropped"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = length_of<DynResize2dAttrs>,
                  .terms = terms_of<DynResize2dAttrs>},
    .not_differentiable = std::string(kNoGradient),
    .relate = relate_resize,
    .evaluate = evaluate_resize,
    .lower = lower_image,
    .extents = extents_of_resize,
});

const OpDef kDynUpsampling = define<DynUpsamplingAttrs>({
    .name = "dyn.nn.upsampling",
    .doc = "Enlarge images by scales that only a run tells.",
    .params = {{"data", "a batch of images"}, {"scale_h", "of the height"}, {"scale_w", "of the width"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction,
                  .length = length_of<DynUpsamplingAttrs>,
                  .terms = terms_of<DynUpsamplingAttrs>},
    .not_differentiable = std::string(kNoGradient),
    .relate = relate_upsampling,
    .evaluate = evaluate_upsampling,
    .lower = lower_image,
    .extents = extents_of_upsampling,
});

}  // namespace relay::op
