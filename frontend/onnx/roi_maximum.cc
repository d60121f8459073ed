#include "frontend/onnx/roi_maximum.h"

#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

// For each place along one side: the pixels before and behind it, and what they weigh. (r, places)
struct Side {
  Expr before, behind, before_weight, behind_weight;
};

Side side_of(Node& n, Expr regions, size_t low, int64_t count, Dim extent, const RoiBins& bins) {
  const DType dtype = type_of(regions).dtype;
  const auto number = [&](double v) { return n.scalar(dtype, v); };
  const auto column = [&](size_t i) {
    return n.call(kMultiply, {n.slice(regions, 1, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1),
                              number(bins.scale)});
  };
  const Expr from = column(low), to = column(low + 2);  // (r, 1)
  Expr size = n.call(kSubtract, {to, from});
  if (!bins.half_pixel) size = n.call(kMaximum, {size, number(1)});
  std::vector<double> steps;  // in bins
  for (int64_t i = 0; i < count * bins.ratio; ++i) {
    steps.push_back(static_cast<double>(i / bins.ratio) +
                    (static_cast<double>(i % bins.ratio) + 0.5) / static_cast<double>(bins.ratio));
  }
  const Expr grid = n.builder().constant(
      Tensor::of(dtype, {static_cast<int64_t>(steps.size())}, std::span<const double>(steps)));
  const Expr bin = n.call(kDivide, {size, number(static_cast<double>(count))});
  const Expr start = n.call(kSubtract, {from, number(bins.half_pixel ? 0.5 : 0)});
  const Expr place = n.call(kAdd, {start, n.call(kMultiply, {bin, grid})});

  const Expr size_of_images = n.cast(n.importer().materialise(extent), dtype);
  const Expr last = n.call(kSubtract, {size_of_images, number(1)});
  const Expr outside =
      n.call(kLogicalOr, {n.call(kLess, {place, number(-1)}), n.call(kGreater, {place, size_of_images})});
  const Expr inside = n.call(kMinimum, {n.call(kMaximum, {place, number(0)}), last});
  const Expr before = n.call(kFloor, {inside});
  const Expr part = n.call(kSubtract, {inside, before});
  const Expr behind = n.call(kMinimum, {n.call(kAdd, {before, number(1)}), last});
  const auto weight = [&](Expr e) { return n.call(kWhere, {outside, number(0), e}); };
  return {n.cast(before, kInt64), n.cast(behind, kInt64), weight(n.call(kSubtract, {number(1), part})),
          weight(part)};
}

}  // namespace

Expr roi_maximum(Node& n, Expr images, Expr regions, Expr image_of, const RoiBins& bins) {
  const std::vector<Dim> dims = dims_of(images);
  const Dim height = dims[2], width = dims[3];
  for (const Dim d : dims) {
    if (d.is_unknown())
      n.unsupported("mode=max needs images whose shape does not depend on the data",
                    "fix it with --input-shapes");
  }
  for (const Dim d : {height, width})
    n.require(!d.is_const() || (d.value() >= 1 && d.value() < (1 << 24)),
              "its images have no pixels, or too many");
  const Side x = side_of(n, regions, 0, bins.width, width, bins),
             y = side_of(n, regions, 1, bins.height, height, bins);
  // Rows of pixels, each with its channels.
  const Expr pixels = n.reshape(n.transpose(images, {0, 2, 3, 1}), {dims[0] * height * width, dims[1]});
  const auto integer = [&](Dim d) { return n.importer().materialise(d); };
  const Expr first = n.call(kMultiply, {n.expand_dims(image_of, 1, 2), integer(height * width)});
  const auto corner = [&](Expr row, Expr row_weight, Expr column, Expr column_weight) {
    const Expr line = n.call(kMultiply, {n.expand_dims(row, 2), integer(width)});
    const Expr at = n.call(kAdd, {n.call(kAdd, {first, line}), n.expand_dims(column, 1)});
    const Expr value = n.call(kTake, {pixels, at}, {{"axis", int64_t{0}}, {"mode", std::string("clip")}});
    const Expr weight = n.call(kMultiply, {n.expand_dims(row_weight, 2), n.expand_dims(column_weight, 1)});
    return n.call(kMultiply, {value, n.cast(n.expand_dims(weight, 3), type_of(images).dtype)});
  };
  const auto larger = [&](Expr a, Expr b) { return n.call(kMaximum, {a, b}); };
  const Expr above = larger(corner(y.before, y.before_weight, x.before, x.before_weight),
                            corner(y.before, y.before_weight, x.behind, x.behind_weight));
  const Expr below = larger(corner(y.behind, y.behind_weight, x.before, x.before_weight),
                            corner(y.behind, y.behind_weight, x.behind, x.behind_weight));
  const Expr places =
      n.reshape(larger(above, below), {type_of(regions).dims[0], Dim(bins.height), Dim(bins.ratio),
                                       Dim(bins.width), Dim(bins.ratio), dims[1]});
  const Expr most = n.call(kMax, {places}, {{"axis", std::vector<int64_t>{2, 4}}});
  return n.transpose(most, {0, 3, 1, 2});
}

}  // namespace relay::frontend
