// vision.roi_pool(data, rois)[r, c, i, j] = the maximum of data[image of r, c] over the part (i, j) of the
//     region r
//
//   (Tensor[(n, c, h, w), d], Tensor[(r, 5), e]) -> Tensor[(r, c, h', w'), d]
//   C1: data has rank 4 and a floating-point dtype.
//   C2: the layout is an order of NCHW.   C3: pooled_size is one or two positive extents.
//   C4: rois has rank 2, five columns and a floating-point dtype.
//   C5: the image has at least one pixel.
//   C6: spatial_scale is finite.
//
// A region is (batch index, x1, y1, x2, y2). Its sides are multiplied by spatial_scale and rounded
// to pixels, halves away from 0, both of which belong to it; one that ends before it begins has one
// pixel. It is cut into h' x w' parts. Of a pixel that two parts share, both take it. A part that
// has no pixel of the image gives 0. An index of a region that is none of the batch traps.
#include <cmath>
#include <limits>

#include "op/nn/window.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/rois.h"

namespace relay::op {
namespace {

struct RoiPoolAttrs {
  std::vector<Dim> pooled_size = {};
  double spatial_scale = 1;
  std::string layout = "NCHW";
  static constexpr auto kFields = fields(
      field("pooled_size", &RoiPoolAttrs::pooled_size, "height and width of the result").required(),
      field("spatial_scale", &RoiPoolAttrs::spatial_scale, "from the sides of regions to pixels").required(),
      field("layout", &RoiPoolAttrs::layout, "an order of the letters NCHW"));
};

Type relate(Relation& r, const RoiPoolAttrs& a) {
  r.require(std::isfinite(a.spatial_scale), kAttributes, "spatial_scale must be finite");  // C6
  return relate_rois(r, a.layout, a.pooled_size);  // C1, C2, C3, C4, C5
}

// The nearest whole number, halves away from 0. Beyond 2^30 there are no pixels.
template <class T>
Whole<T> to_pixel(T v, Whole<T> like) {
  const T zero = number(v, 0), up = floor(magnitude(v) + number(v, 0.5));
  const int64_t most = int64_t{1} << 30;
  return between(whole_of(select(less(v, zero), zero - up, up)), whole(like, -most), whole(like, most));
}

// The pixels [first, last) of a part along an axis of the image.
template <class W>
struct Range {
  W first, last;
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
using kernel::floor_div;

template <class T>
Range<Whole<T>> pixels(const RoiPoolAttrs& a, T low, T high, Whole<T> part, Whole<T> parts, Whole<T> extent) {
  const T scale = number(low, a.spatial_scale);
  const Whole<T> zero = whole(part, 0), start = to_pixel(low * scale, part);
  const Whole<T> size =
      between(to_pixel(high * scale, part) - start + 1, whole(part, 1), whole(part, int64_t{1} << 31));
  const auto inside = [&](Whole<T> v) { return between(start + v, zero, extent); };
  return {inside(floor_div(part * size, parts)), inside(floor_div((part + 1) * size + parts - 1, parts))};
}

void evaluate(const RoiPoolAttrs& a, Args in, Results out) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const Tensor& x = in[0];
  const std::array<int64_t, 4> from = parts(layout, x.shape()), to = parts(layout, out[0].shape());
  const std::vector<int64_t> stride = strides_of(x.shape(), layout);
  const DType computed = accumulator(in[1].dtype());
  for_each_pooled(layout, in, out[0], [&](int64_t n, const auto& at, int64_t image, const auto& roi) {
    std::array<Range<int64_t>, 2> range;
    for (size_t axis = 0; axis < 2; ++axis) {
      range[axis] = pixels(a, Real{roi(low_side(axis)), computed}, Real{roi(high_side(axis)), computed},
                           at[2 + axis], to[2 + axis], from[2 + axis]);
    }
    const auto& [rows, columns] = range;
    const bool empty = rows.first >= rows.last || columns.first >= columns.last;
    double largest = empty ? 0 : -std::numeric_limits<double>::infinity();
    for (int64_t y = rows.first; y < rows.last; ++y) {
      for (int64_t z = columns.first; z < columns.last; ++z) {
        const double v = x.get(image * stride[0] + at[1] * stride[1] + y * stride[2] + z * stride[3]);
        largest = kernel::scalar::greatest(largest, v);
      }
    }
    out[0].set(n, largest);
  });
}

// The first pixel of each part along an axis, and the one behind its last.
struct Bounds {
  kernel::Tensor first, last;  // [region, part]
};

Bounds bounds(kernel::Builder& k, const RoiPoolAttrs& a, const kernel::Tensor& rois, size_t axis,
              kernel::Expr parts, kernel::Expr extent) {
  const DType computed = accumulator(rois.dtype());
  const auto range = [&](kernel::Indices i) {
    const auto side = [&](int64_t column) { return cast(computed, rois(i[0], k.index(column))); };
    return pixels(a, side(low_side(axis)), side(high_side(axis)), i[1], parts, extent);
  };
  const std::string name = axis == 0 ? "row_" : "column_";
  const std::vector<kernel::Expr> shape{rois.dim(0), parts};
  return {k.compute(name + "first", kInt64, shape, [&](kernel::Indices i) { return range(i).first; }),
          k.compute(name + "last", kInt64, shape, [&](kernel::Indices i) { return range(i).last; })};
}

// The maximum over the rows of a part, and then over its columns.
std::vector<kernel::Tensor> lower(kernel::Builder& k, const RoiPoolAttrs& a, const Lowering& c) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const kernel::Tensor &x = c.in[0], &rois = c.in[1];
  const std::array<kernel::Expr, 4> from = parts(layout, x.shape()), to = parts(layout, c.shape());
  const kernel::Tensor images = images_of(k, rois, from);
  const Bounds rows = bounds(k, a, rois, 0, to[2], from[2]), columns = bounds(k, a, rois, 1, to[3], from[3]);
  const kernel::Expr lowest = k.lowest(c.dtype());
  const auto is_in = [](const Bounds& b, kernel::Expr roi, kernel::Expr part, kernel::Expr v) {
    return both(less_equal(b.first(roi, part), v), less(v, b.last(roi, part)));
  };
  const kernel::Tensor lines =
      k.reduce("lines", c.dtype(), {to[0], to[1], to[2], from[3]}, {from[2]}, k.maximum(c.dtype()),
               [&](kernel::Indices i, kernel::Indices r) {
                 const std::array<kernel::Expr, 4> at{images(i[0]), i[1], r[0], i[3]};
                 return select(is_in(rows, i[0], i[2], r[0]), x.at(layout.index(at)), lowest);
               });
  const kernel::Tensor found =
      k.reduce("maximum", c.dtype(), c.shape(), {from[3]}, k.maximum(c.dtype()),
               [&](kernel::Indices i, kernel::Indices r) {
                 const std::array<kernel::Expr, 4> at = parts(layout, i);
                 return select(is_in(columns, at[0], at[3], r[0]), lines(at[0], at[1], at[2], r[0]), lowest);
               });
  return {k.compute("roi_pool", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::array<kernel::Expr, 4> at = parts(layout, i);
    const auto any = [&](const Bounds& b, kernel::Expr part) {
      return less(b.first(at[0], part), b.last(at[0], part));
    };
    return select(both(any(rows, at[2]), any(columns, at[3])), found.at(i), k.constant(c.dtype(), 0));
  })};
}

}  // namespace

const OpDef kRoiPool = define<RoiPoolAttrs>({
    .name = "vision.roi_pool",
    .doc = "The largest pixel of each part of regions of images.",
    .params = {{"data", "a batch of images"}, {"rois", "regions: the image's index, x1, y1, x2 and y2"}},
    .effects = Effects::kTraps,
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
