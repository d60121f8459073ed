// dyn.nn.upsampling3d(data, scale_d, scale_h, scale_w) = nn.upsampling3d of data to the extents
//     times the scales, rounded (halves to even)
//
//   (Tensor[s, d], Tensor[(), e], Tensor[(), e], Tensor[(), e]) -> Tensor[(?, ?, ?, ?, ?), d]
//   C1: the scales are floating-point numbers of rank 0; the attributes of their names are 0.
//   C2: what else nn.upsampling3d asks of the data and of the attributes.
//
// A run traps as dyn.nn.upsampling does: if a scale is not positive or is above 65536, or if an
// extent becomes 0.
#include "op/domain.h"
#include "op/dyn/shapes.h"
#include "op/layout.h"
#include "op/ops.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct DynUpsampling3dAttrs {
  double scale_d = 0, scale_h = 0, scale_w = 0;
  std::string layout = "NCDHW";
  std::string method = "nearest_neighbor";
  std::string coordinate_transformation_mode = "half_pixel";
  static constexpr auto kFields = fields(
      field("scale_d", &DynUpsampling3dAttrs::scale_d, "must be 0: the argument of that name stands for it"),
      field("scale_h", &DynUpsampling3dAttrs::scale_h, "likewise"),
      field("scale_w", &DynUpsampling3dAttrs::scale_w, "likewise"),
      field("layout", &DynUpsampling3dAttrs::layout, "an order of the letters NCDHW"),
      field("method", &DynUpsampling3dAttrs::method, "nearest_neighbor or trilinear"),
      field("coordinate_transformation_mode", &DynUpsampling3dAttrs::coordinate_transformation_mode,
            "half_pixel, align_corners or asymmetric, as image.resize2d has them"));
};

Type relate(Relation& r, const DynUpsampling3dAttrs& a) {
  for (const int i : {1, 2, 3}) {
    r.require_rank(i, 0);           // C1
    require(r, i, Domain::kFloat);  // C1
  }
  r.require(a.scale_d == 0 && a.scale_h == 0 && a.scale_w == 0, kAttributes,
            "scale_d, scale_h and scale_w must be 0: arguments stand for them");  // C1
  r.require_rank(0, 5);                                                           // C2
  // Extents that only a run tells are 1 here: it is about the attributes.
  const std::vector<Type> any{r.tensor_of(std::vector<Dim>(5, Dim(1)), r.tensor(0).dtype)};
  Relation of_known(r.context(), any);
  kUpsampling3d.relate(
      of_known,
      r.context().attrs({{"scale_d", 1.0},
                         {"scale_h", 1.0},
                         {"scale_w", 1.0},
                         {"layout", a.layout},
                         {"method", a.method},
                         {"coordinate_transformation_mode", a.coordinate_transformation_mode}}));  // C2
  return sized_by_data(r, 5, r.tensor(0).dtype);
}

// The extent times the scale, a vector of one number. It is the height of an image of one column
// that dyn.nn.upsampling makes: that operator decides how to round, and which scales trap.
Term scaled(Term extent, Expr scale) {
  Builder& b = *extent.b;
  Tensor number(kInt64, {1});
  number.set(0, 1);
  const Expr one = b.constant(std::move(number));
  const Expr dims[] = {one, one, extent, one};
  const Expr shape = call(b, kConcatenate, {b.tuple(dims)}, {{"axis", int64_t{0}}});
  const Expr column = call(b, kDynFull, {b.scalar(kInt8, 0), shape});
  const Expr longer = call(b, kDynUpsampling, {column, scale, b.scalar(kFloat32, 1)});
  return {b, sliced(b, call(b, kShapeOf, {longer}, {{"dtype", kInt64}}), 0, Dim(2), Dim(3))};
}

// As nn.upsampling3d does: the slices of a channel are images of their own; then a slice is a row.
Expr expand(Builder& b, const DynUpsampling3dAttrs& a, const Site& c) {
  const Layout layout = read_order("layout", a.layout, "NCDHW");
  const Term x(b, transposed(b, c.args[0], axes_to_plain(layout)));
  const Term shape = x.apply(kShapeOf, {x}, {{"dtype", kInt64}});
  const auto extent = [&](int64_t i) { return Term(b, sliced(b, shape, 0, Dim(i), Dim(i + 1))); };
  const auto joined = [&](std::initializer_list<Expr> parts) {
    return Term(b, call(b, kConcatenate, {b.tuple(parts)}, {{"axis", int64_t{0}}}));
  };
  const auto in_shape = [&](Term e, Term to) { return e.apply(kDynReshape, {e, to}, {{"allowzero", true}}); };
  const bool half = a.coordinate_transformation_mode == "half_pixel";
  const std::vector<AttrArg> how{{"method", std::string(a.method == "trilinear" ? "linear" : a.method)},
                                 {"coordinate_transformation_mode", a.coordinate_transformation_mode},
                                 {"rounding_method", std::string(half ? "round" : "")}};
  const Term none(b, b.constant(Tensor(kFloat32, {0})));  // no crop
  const auto resized = [&](Term images, Term height, Term width) {
    return images.apply(kDynResize2d, {images, joined({height, width}), none}, how);
  };
  const Term n = extent(0), channels = extent(1), depth = scaled(extent(2), c.args[1]),
             height = scaled(extent(3), c.args[2]), width = scaled(extent(4), c.args[3]);
  const Term slices = in_shape(x, joined({n, channels * extent(2), extent(3), extent(4)}));
  const Term rows =
      in_shape(resized(slices, height, width), joined({n, channels, extent(2), height * width}));
  const Term all =
      in_shape(resized(rows, depth, height * width), joined({n, channels, depth, height, width}));
  return transposed(b, all, axes_from_plain(layout));
}

int64_t length(std::span<const Type>, const Attrs& attrs) {
  const DynUpsampling3dAttrs a = read_attrs<DynUpsampling3dAttrs>(attrs);
  const std::string& method = a.method;  // g++ 12 warns of a copy, which it takes for uninitialised
  return method == "nearest_neighbor" ? 0 : 16;
}

}  // namespace

const OpDef kDynUpsampling3d = define<DynUpsampling3dAttrs>({
    .name = "dyn.nn.upsampling3d",
    .doc = "Enlarge volumes by scales that only a run tells.",
    .params = {{"data", "a batch of volumes"},
               {"scale_d", "of the depth"},
               {"scale_h", "of the height"},
               {"scale_w", "of the width"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
