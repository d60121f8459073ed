// vision.roi_align(data, rois)[r, c, i, j] = the mean, or the maximum, of data[image of r, c] at places
//     that are spread evenly over the part (i, j) of the region r
//
//   (Tensor[(n, c, h, w), d], Tensor[(r, 5), e]) -> Tensor[(r, c, h', w'), d]
//   C1: data has rank 4 and a floating-point dtype.
//   C2: the layout is an order of NCHW.   C3: pooled_size is one or two positive extents.
//   C4: rois has rank 2, five columns and a floating-point dtype.
//   C5: the image has at least one pixel.
//   C6: mode is "avg" or "max".   C7: sample_ratio is at most 1024, and spatial_scale finite.
//
// A region is (batch index, x1, y1, x2, y2); its sides are multiplied by spatial_scale. Regions
// smaller than 1 x 1 are made that large, unless `aligned`, where sides are moved by half a pixel
// instead. The region is cut into h' x w' parts. Along each axis a part has sample_ratio places,
// or, if that is not positive, one for each pixel that the part begins. In between pixels, the four
// around a place are weighed. A place that is more than a pixel outside of the image counts as 0.
// An index of a region that is none of the batch traps.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "op/nn/window.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"
#include "op/vision/rois.h"

namespace relay::op {
namespace {

struct RoiAlignAttrs {
  std::vector<Dim> pooled_size = {};
  double spatial_scale = 1;
  int64_t sample_ratio = -1;
  std::string layout = "NCHW";
  std::string mode = "avg";
  bool aligned = false;
  static constexpr auto kFields = fields(
      field("pooled_size", &RoiAlignAttrs::pooled_size, "height and width of the result").required(),
      field("spatial_scale", &RoiAlignAttrs::spatial_scale, "from the sides of regions to pixels").required(),
      field("sample_ratio", &RoiAlignAttrs::sample_ratio,
            "places along each axis of a part; not positive: one for each pixel that the part begins"),
      field("layout", &RoiAlignAttrs::layout, "an order of the letters NCHW"),
      field("mode", &RoiAlignAttrs::mode, "avg or max"),
      field("aligned", &RoiAlignAttrs::aligned,
            "sides are moved by half a pixel, and small regions are not made larger"));
};

Type relate(Relation& r, const RoiAlignAttrs& a) {
  r.require(a.mode == "avg" || a.mode == "max", kAttributes,
            cat("mode must be avg or max, not `", a.mode, "`"));                           // C6
  r.require(a.sample_ratio <= 1024, kAttributes, "sample_ratio must be at most 1024");     // C7
  r.require(std::isfinite(a.spatial_scale), kAttributes, "spatial_scale must be finite");  // C7
  return relate_rois(r, a.layout, a.pooled_size);  // C1, C2, C3, C4, C5
}

// The places of a part along an axis: start + (i + 1/2) * step for i < count. Those before `first`
// are outside of the image.
template <class T>
struct Places {
  T start, step;
  Whole<T> count, first;
};

template <class T>
Places<T> places(const RoiAlignAttrs& a, T low, T high, Whole<T> part, Whole<T> parts) {
  const T scale = number(low, a.spatial_scale), one = number(low, 1), zero = number(low, 0);
  const T size = a.aligned ? (high - low) * scale : max((high - low) * scale, one);
  const T start = a.aligned ? low * scale - number(low, 0.5) : low * scale;
  const T whole_size = size / real_of(low, parts);
  const Whole<T> most = whole(part, int64_t{1} << 40);
  const Whole<T> count = a.sample_ratio > 0 ? whole(part, a.sample_ratio)
                                            : between(whole_of(ceil(whole_size)), whole(part, 0), most);
  const T begin = start + real_of(low, part) * whole_size;
  const T step = whole_size / max(real_of(low, count), one);
  // Two places less than computed, for what is rounded. Where all places are tried, no
  // need to begin late.
  const T late = floor((number(low, -1) - begin) / step) - number(low, 2);
  const Whole<T> first =
      a.sample_ratio > 0 ? whole(part, 0) : between(whole_of(max(late, zero)), whole(part, 0), most);
  return {begin, step, count, first};
}

// How many places of a part may lie in the image, from the first one on: they are more than half a
// pixel apart, if there are several.
template <class W>
W most_places(const RoiAlignAttrs& a, W extent) {
  return a.sample_ratio > 0 ? whole(extent, a.sample_ratio) : extent * 2 + 8;
}

// One place: the pixels around it, the weight of the second one, and whether it counts.
template <class T>
struct Sample {
  Whole<T> first, second;
  T weight;
  Truth<T> counts;
};

template <class T>
Sample<T> sample(const Places<T>& p, Whole<T> r, Whole<T> extent) {
  const Whole<T> i = p.first + r;
  const T half = number(p.start, 0.5), zero = number(p.start, 0), one = number(p.start, 1);
  const T at = p.start + (real_of(p.start, i) + half) * p.step, size = real_of(p.start, extent);
  const T inside = min(max(at, zero), size - one), base = floor(inside);
  const auto pixel = [&](T v) { return between(whole_of(v), whole(extent, 0), extent - 1); };
  return {pixel(base), pixel(base + one), inside - base,
          both(is_inside(i, p.count), both(less_equal(number(at, -1), at), less_equal(at, size)))};
}

// With weights, or, for the magnitude of its terms, without.
enum class Weights { kExact, kLargest };

void align(const RoiAlignAttrs& a, Args in, Results out, Weights weights) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const Tensor& x = in[0];
  const std::array<int64_t, 4> from = parts(layout, x.shape()), to = parts(layout, out[0].shape());
  const std::vector<int64_t> stride = strides_of(x.shape(), layout);
  const DType computed = accumulator(in[1].dtype());
  for_each_pooled(layout, in, out[0], [&](int64_t n, const auto& at, int64_t image, const auto& roi) {
    std::array<std::vector<Sample<Real>>, 2> samples;
    double count = 1;
    for (size_t axis = 0; axis < 2; ++axis) {
      const Places<Real> p = places(a, Real{roi(low_side(axis)), computed},
                                    Real{roi(high_side(axis)), computed}, at[2 + axis], to[2 + axis]);
      count *= static_cast<double>(p.count);
      for (int64_t r = 0; r < most_places(a, from[2 + axis]); ++r) {
        const Sample<Real> s = sample(p, r, from[2 + axis]);
        if (is_inside(p.first + r, p.count)) samples[axis].push_back(s);
      }
    }
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    for (const Sample<Real>& row : samples[0]) {
      for (const Sample<Real>& column : samples[1]) {
        const auto pixel = [&](int64_t y, int64_t z) {
          const double v = x.get(image * stride[0] + at[1] * stride[1] + y * stride[2] + z * stride[3]);
          return weights == Weights::kExact ? v : std::fabs(v);
        };
        const double p = pixel(row.first, column.first), q = pixel(row.first, column.second),
                     s = pixel(row.second, column.first), t = pixel(row.second, column.second);
        const double v = row.weight.value, u = column.weight.value;
        double value = weights == Weights::kLargest
                           ? p + q + s + t
                           : (1 - v) * ((1 - u) * p + u * q) + v * ((1 - u) * s + u * t);
        if (!row.counts || !column.counts) value = 0;
        sum += value;
        largest = kernel::scalar::greatest(largest, value);
      }
    }
    const bool all = static_cast<double>(samples[0].size()) * static_cast<double>(samples[1].size()) == count;
    if (a.mode == "avg") return out[0].set(n, sum / std::max(count, 1.0));
    // What is left out lies outside of the image, and is 0.
    out[0].set(n, count == 0 ? 0 : all ? largest : kernel::scalar::greatest(largest, 0));
  });
}

void evaluate(const RoiAlignAttrs& a, Args in, Results out) { align(a, in, out, Weights::kExact); }

// A place that is rounded differs by as many roundings as the axis has pixels, and so do the
// weights of all pixels around it, which may be 0.
void terms(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  align(read_attrs<RoiAlignAttrs>(attrs), in, out, Weights::kLargest);
}

int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const RoiAlignAttrs a = read_attrs<RoiAlignAttrs>(attrs);
  int64_t extents = 16;
  for (const Dim d : args[0]->as<TensorType>()->dims) extents += d.is_const() ? 8 * d.value() : 0;
  return extents + std::max<int64_t>(a.sample_ratio, 1) * std::max<int64_t>(a.sample_ratio, 1);
}

// --- to lower ------------------------------------------------------------------------------------

// What is known of the places of each part of each region along an axis.
struct Tables {
  kernel::Tensor first, second, weight;  // [region, part, place]
  kernel::Tensor state;                  // kNone, kOutside or kCounts
  kernel::Tensor count;                  // [region, part]: a real number
  kernel::Tensor missing;                // [region, part]: there are places that are in no table
  kernel::Expr most;                     // places of a part
};
constexpr int64_t kNone = 0, kOutside = 1, kCounts = 2;

Tables tables(kernel::Builder& k, const RoiAlignAttrs& a, const Lowering& c, size_t axis, kernel::Expr parts,
              kernel::Expr extent, DType wide) {
  const kernel::Tensor rois = c.in[1];
  const DType computed = accumulator(rois.dtype());
  const auto places_of = [&](kernel::Indices i) {
    const auto side = [&](int64_t column) { return cast(computed, rois(i[0], k.index(column))); };
    return places(a, side(low_side(axis)), side(high_side(axis)), i[1], parts);
  };
  const std::string name = axis == 0 ? "row_" : "column_";
  const std::vector<kernel::Expr> shape{rois.dim(0), parts};
  Tables t;
  t.most = most_places(a, extent);
  const auto table = [&](const char* what, DType dtype, const auto& value) {
    return k.compute(name + what, dtype, {shape[0], shape[1], t.most}, [&](kernel::Indices i) {
      const Places<kernel::Expr> p = places_of(i);
      return value(sample(p, i[2], extent), is_inside(p.first + i[2], p.count));
    });
  };
  using S = const Sample<kernel::Expr>&;
  t.first = table("first", kInt64, [](S s, kernel::Expr) { return s.first; });
  t.second = table("second", kInt64, [](S s, kernel::Expr) { return s.second; });
  t.weight = table("weight", wide, [&](S s, kernel::Expr) { return cast(wide, s.weight); });
  const auto number = [&](int64_t v) { return k.pool().integer(v, kInt32); };
  t.state = table("state", kInt32, [&](S s, kernel::Expr exists) {
    return select(exists, select(s.counts, number(kCounts), number(kOutside)), number(kNone));
  });
  t.count = k.compute(name + "count", wide, shape,
                      [&](kernel::Indices i) { return cast(wide, places_of(i).count); });
  t.missing = k.compute(name + "missing", kBool, shape, [&](kernel::Indices i) {
    const Places<kernel::Expr> p = places_of(i);
    return logical_or(less(k.index(0), p.first), less(p.first + t.most, p.count));
  });
  return t;
}

// The weight of each pixel of an axis in a part: of all of its places together.
kernel::Tensor pixel_weights(kernel::Builder& k, const Tables& t, kernel::Expr extent) {
  const DType wide = t.weight.dtype();
  const std::vector<kernel::Expr> shape{t.count.dim(0), t.count.dim(1), extent};
  const kernel::Expr zero = k.constant(wide, 0), one = k.constant(wide, 1);
  return k.reduce(
      "pixel_weight", wide, shape, {t.most}, k.sum(wide), [&](kernel::Indices i, kernel::Indices r) {
        const kernel::Expr f = t.weight(i[0], i[1], r[0]);
        const kernel::Expr sum = select(equal(t.first(i[0], i[1], r[0]), i[2]), one - f, zero) +
                                 select(equal(t.second(i[0], i[1], r[0]), i[2]), f, zero);
        return select(equal(t.state(i[0], i[1], r[0]), k.pool().integer(kCounts, kInt32)), sum, zero);
      });
}

// The mean as two sums, over the rows and then over the columns: how many places there are depends
// on data, but how many pixels there are does not.
kernel::Tensor sum_by_pixels(kernel::Builder& k, const Layout& layout, const Lowering& c,
                             const std::array<Tables, 2>& t, const kernel::Tensor& images) {
  const kernel::Tensor& x = c.in[0];
  const std::array<kernel::Expr, 4> from = parts(layout, x.shape()), to = parts(layout, c.shape());
  const DType wide = t[0].weight.dtype();
  const kernel::Tensor rows = pixel_weights(k, t[0], from[2]), columns = pixel_weights(k, t[1], from[3]);
  const auto weighed = [&](kernel::Expr weight, kernel::Expr value) {
    return select(equal(weight, k.constant(wide, 0)), k.constant(wide, 0), weight * value);
  };
  const kernel::Tensor lines =
      k.reduce("lines", wide, {to[0], to[1], to[2], from[3]}, {from[2]}, k.sum(wide),
               [&](kernel::Indices i, kernel::Indices r) {
                 const std::array<kernel::Expr, 4> at{images(i[0]), i[1], r[0], i[3]};
                 return weighed(rows(i[0], i[2], r[0]), cast(wide, x.at(layout.index(at))));
               });
  return k.reduce("sum", wide, c.shape(), {from[3]}, k.sum(wide), [&](kernel::Indices i, kernel::Indices r) {
    const std::array<kernel::Expr, 4> at = parts(layout, i);
    return weighed(columns(at[0], at[3], r[0]), lines(at[0], at[1], at[2], r[0]));
  });
}

kernel::Tensor by_places(kernel::Builder& k, const RoiAlignAttrs& a, const Layout& layout, const Lowering& c,
                         const std::array<Tables, 2>& t, const kernel::Tensor& images) {
  const kernel::Tensor& x = c.in[0];
  const DType wide = t[0].weight.dtype();
  const bool mean = a.mode == "avg";
  const kernel::Expr zero = k.constant(wide, 0), one = k.constant(wide, 1);
  const auto is = [&](kernel::Expr state, int64_t what) {
    return equal(state, k.pool().integer(what, kInt32));
  };
  return k.reduce(
      mean ? "sum" : "maximum", wide, c.shape(), {t[0].most, t[1].most}, mean ? k.sum(wide) : k.maximum(wide),
      [&](kernel::Indices i, kernel::Indices r) {
        const std::array<kernel::Expr, 4> at = parts(layout, i);
        const auto of = [&](const kernel::Tensor& table, size_t axis) {
          return table(at[0], at[2 + axis], r[axis]);
        };
        const auto pixel = [&](const kernel::Tensor& row, const kernel::Tensor& column) {
          const std::array<kernel::Expr, 4> from{images(at[0]), at[1], of(row, 0), of(column, 1)};
          return cast(wide, x.at(layout.index(from)));
        };
        const kernel::Expr v = of(t[0].weight, 0), u = of(t[1].weight, 1);
        const kernel::Expr value =
            (one - v) * ((one - u) * pixel(t[0].first, t[1].first) + u * pixel(t[0].first, t[1].second)) +
            v * ((one - u) * pixel(t[0].second, t[1].first) + u * pixel(t[0].second, t[1].second));
        const kernel::Expr row = of(t[0].state, 0), column = of(t[1].state, 1);
        const kernel::Expr counted = select(both(is(row, kCounts), is(column, kCounts)), value, zero);
        return mean ? counted : select(either(is(row, kNone), is(column, kNone)), k.lowest(wide), counted);
      });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const RoiAlignAttrs& a, const Lowering& c) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const std::array<kernel::Expr, 4> from = parts(layout, c.in[0].shape()), to = parts(layout, c.shape());
  const DType wide = accumulator(c.dtype());
  const kernel::Tensor images = images_of(k, c.in[1], from);
  const std::array<Tables, 2> t{tables(k, a, c, 0, to[2], from[2], wide),
                                tables(k, a, c, 1, to[3], from[3], wide)};
  const bool mean = a.mode == "avg";
  const kernel::Tensor found = mean && a.sample_ratio <= 0 ? sum_by_pixels(k, layout, c, t, images)
                                                           : by_places(k, a, layout, c, t, images);
  const kernel::Expr zero = k.constant(wide, 0), one = k.constant(wide, 1);
  return {k.compute("roi_align", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::array<kernel::Expr, 4> at = parts(layout, i);
    const kernel::Expr count = t[0].count(at[0], at[2]) * t[1].count(at[0], at[3]);
    if (mean) return cast(c.dtype(), found.at(i) / max(count, one));
    const kernel::Expr missing = either(t[0].missing(at[0], at[2]), t[1].missing(at[0], at[3]));
    const kernel::Expr largest = select(missing, max(found.at(i), zero), found.at(i));
    return cast(c.dtype(), select(equal(count, zero), zero, largest));
  })};
}

}  // namespace

const OpDef kRoiAlign = define<RoiAlignAttrs>({
    .name = "vision.roi_align",
    .doc = "Regions of images, each brought to one size, from places in between the pixels.",
    .params = {{"data", "a batch of images"}, {"rois", "regions: the image's index, x1, y1, x2 and y2"}},
    .effects = Effects::kTraps,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
