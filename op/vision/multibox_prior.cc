// vision.multibox_prior(data)[0, (y * w + x) * boxes + k] = (cx - u, cy - v, cx + u, cy + v),
//     the box k around the pixel (y, x), in shares of the image
//
//   where cy = (y + offsets[0]) * steps[0] and cx = (x + offsets[1]) * steps[1]; a step that is not
//   positive is 1 / h or 1 / w
//
//   u = sizes[k] * h / w / 2 and v = sizes[k] / 2 for each size, and then, for each ratio but the first,
//   u = sizes[0] * h / w * sqrt(ratio) / 2 and v = sizes[0] / sqrt(ratio) / 2
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(1, h * w * boxes, 4), d],
//       where boxes = len(sizes) + len(ratios) - 1
//   C1: data has rank 4 and a floating-point dtype.
//   C2: there are sizes and ratios, at most 64 of each.
//   C3: steps and offsets are two numbers each.
//   C4: all numbers are finite, and the ratios positive.
//
// With clip the sides are brought into [0, 1]. Of data only the shape matters.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct MultiBoxPriorAttrs {
  std::vector<double> sizes = {1}, ratios = {1}, steps = {-1, -1}, offsets = {0.5, 0.5};
  bool clip = false;
  static constexpr auto kFields =
      fields(field("sizes", &MultiBoxPriorAttrs::sizes,
                   "of the boxes with the first ratio, in shares of the height"),
             field("ratios", &MultiBoxPriorAttrs::ratios, "width to height; the first one counts as 1"),
             field("steps", &MultiBoxPriorAttrs::steps,
                   "from pixel to pixel, y and x; not positive: as far as they are"),
             field("offsets", &MultiBoxPriorAttrs::offsets, "of the centres in their pixels, y and x"),
             field("clip", &MultiBoxPriorAttrs::clip, "bring the sides into [0, 1]"));
};

Type relate(Relation& r, const MultiBoxPriorAttrs& a) {
  r.require_rank(0, 4);           // C1
  require(r, 0, Domain::kFloat);  // C1
  const auto some = [](const std::vector<double>& list) { return !list.empty() && list.size() <= 64; };
  r.require(some(a.sizes) && some(a.ratios), kAttributes,
            "sizes and ratios must be 1 to 64 numbers each");  // C2
  r.require(a.steps.size() == 2 && a.offsets.size() == 2, kAttributes,
            "steps and offsets must be two numbers each");  // C3
  for (const auto* list : {&a.sizes, &a.ratios, &a.steps, &a.offsets}) {
    for (const double v : *list) r.require(std::isfinite(v), kAttributes, "numbers must be finite");  // C4
  }
  for (const double v : a.ratios)
    r.require(v > 0, kAttributes, cat("ratios must be positive, not ", v));  // C4
  const TensorType& x = r.tensor(0);
  const Dim boxes(static_cast<int64_t>(a.sizes.size() + a.ratios.size() - 1));
  return r.tensor_of({Dim(1), x.dims[2] * x.dims[3] * boxes, Dim(4)}, x.dtype);
}

// Half the height of box k; half its width if the image were as wide as high.
std::array<double, 2> half_sides(const MultiBoxPriorAttrs& a, size_t k) {
  if (k < a.sizes.size()) return {a.sizes[k] / 2, a.sizes[k] / 2};
  const double root = std::sqrt(a.ratios[k - a.sizes.size() + 1]);
  return {a.sizes[0] / root / 2, a.sizes[0] * root / 2};
}

// With the sides, or, for the magnitude of their terms, with sums of magnitudes.
enum class Signs { kExact, kDropped };

void prior(const MultiBoxPriorAttrs& a, const Shape& image, Results out, Signs signs) {
  const std::array<int64_t, 2> extent{image[2], image[3]};
  const auto boxes = static_cast<int64_t>(a.sizes.size() + a.ratios.size() - 1);
  int64_t number = 0;
  for_each_index({extent[0], extent[1], boxes}, [&](const std::vector<int64_t>& i) {
    std::array<double, 2> centre, half = half_sides(a, static_cast<size_t>(i[2]));
    half[1] *= static_cast<double>(extent[0]) / static_cast<double>(extent[1]);
    for (size_t axis = 0; axis < 2; ++axis) {
      const double step = a.steps[axis] > 0 ? a.steps[axis] : 1 / static_cast<double>(extent[axis]);
      centre[axis] = (static_cast<double>(i[axis]) + a.offsets[axis]) * step;
      if (signs == Signs::kDropped)
        centre[axis] = (static_cast<double>(i[axis]) + std::fabs(a.offsets[axis])) * step;
    }
    for (const int sign : {-1, 1}) {
      for (const size_t axis : {1, 0}) {
        double side = signs == Signs::kDropped ? centre[axis] + std::fabs(half[axis])
                                               : centre[axis] + sign * half[axis];
        if (a.clip && signs == Signs::kExact) side = std::clamp(side, 0.0, 1.0);
        out[0].set(number++, side);
      }
    }
  });
}

void evaluate(const MultiBoxPriorAttrs& a, Args in, Results out) {
  prior(a, in[0].shape(), out, Signs::kExact);
}

void terms(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  prior(read_attrs<MultiBoxPriorAttrs>(attrs), in[0].shape(), out, Signs::kDropped);
}

int64_t some_roundings(std::span<const Type>, const Attrs&) { return 16; }

// The number at a place of a list.
kernel::Expr chosen(kernel::Builder& k, DType dtype, const std::vector<double>& list, kernel::Expr place) {
  kernel::Expr out = k.constant(dtype, list.back());
  for (size_t i = list.size() - 1; i-- > 0;) {
    out = select(equal(place, k.index(static_cast<int64_t>(i))), k.constant(dtype, list[i]), out);
  }
  return out;
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const MultiBoxPriorAttrs& a, const Lowering& c) {
  using kernel::Expr;
  const kernel::Tensor& x = c.in[0];
  const DType wide = accumulator(c.dtype());
  const std::array<Expr, 2> extent{x.dim(2), x.dim(3)};
  const size_t boxes = a.sizes.size() + a.ratios.size() - 1;
  std::array<std::vector<double>, 2> half;
  for (size_t n = 0; n < boxes; ++n) {
    for (size_t axis = 0; axis < 2; ++axis) half[axis].push_back(half_sides(a, n)[axis]);
  }
  return {k.compute("multibox_prior", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const auto count = static_cast<int64_t>(boxes);
    const Expr pixel = floor_div(i[1], count), box = floor_mod(i[1], count);
    const Expr columns = max(extent[1], k.index(1));
    const std::array<Expr, 2> at{floor_div(pixel, columns), floor_mod(pixel, columns)};
    const auto side = [&](size_t axis) {
      const Expr along = cast(wide, at[axis]) + k.constant(wide, a.offsets[axis]);
      const Expr centre =
          a.steps[axis] > 0 ? along * k.constant(wide, a.steps[axis]) : along / cast(wide, extent[axis]);
      Expr size = chosen(k, wide, half[axis], box);
      if (axis == 1) size = size * cast(wide, extent[0]) / cast(wide, extent[1]);
      return select(less(i[2], k.index(2)), centre - size, centre + size);
    };
    const Expr value = select(equal(floor_mod(i[2], 2), k.index(0)), side(1), side(0));
    return cast(c.dtype(), a.clip ? min(max(value, k.constant(wide, 0)), k.constant(wide, 1)) : value);
  })};
}

std::vector<Expr> no_gradient(Builder&, const MultiBoxPriorAttrs&, const Site&) { return {nullptr}; }

}  // namespace

const OpDef kMultiboxPrior = define<MultiBoxPriorAttrs>({
    .name = "vision.multibox_prior",
    .doc = "Boxes of given sizes and ratios around each pixel.",
    .params = {{"data", "only its type matters"}},
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = some_roundings, .terms = terms},
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = no_gradient,
    .lower = lower,
});

}  // namespace relay::op
