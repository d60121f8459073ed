// image.resize1d(data)[n, c, x]: the row at the place that x comes from, in between its pixels.
// image.resize2d(data)[n, c, y, x]: the image at the place that (y, x) comes from, in between its pixels.
// image.resize3d(data)[n, c, z, y, x]: the volume at the place that (z, y, x) comes from, in between
//     its pixels.
//
//   half_pixel            (y + 1/2) * h / h' - 1/2
//   asymmetric            y * h / h'
//   align_corners         y * (h - 1) / (h' - 1), and 0 if h' = 1
//   pytorch_half_pixel    as half_pixel, but 0 if h' = 1
//   tf_half_pixel_for_nn  (y + 1/2) * h / h'
//   tf_crop_and_resize    start * (h - 1) + y * (end - start) * (h - 1) / (h' - 1), and the middle,
//                         (start + end) / 2 * (h - 1), if h' = 1
//
//   (Tensor[(n, c, h.., w), d]) -> Tensor[(n, c, h'.., w'), d]
//   C1: data has rank 3, 4 or 5; a floating-point dtype unless the method is nearest_neighbor.
//   C2: the layout is an order of NCW, NCHW or NCDHW.
//   C3: size is one positive extent, or one for each axis.
//   C4: method, coordinate_transformation_mode and rounding_method are known words.
//   C5: the image has at least one pixel.
//   C6: roi is empty or zeros, unless places come from it; cubic_exclude is 0 or 1; out_dtype is
//       the data's.
//   C7: with tf_crop_and_resize roi has the start of each axis, and then the end of
//       each: finite numbers.
//
// nearest_neighbor takes one pixel. linear weighs two of each axis, and cubic four. Pixels beyond
// the border are those at the border; with cubic_exclude they weigh nothing, and the others weigh 1
// together. But for tf_crop_and_resize the place is a fraction of integers, so that which pixels
// are meant does not depend on rounding. There a place outside of the image gives
// extrapolation_value.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/cat.h"
#include "op/domain.h"
#include "op/layout.h"
#include "op/nn/fit.h"
#include "op/nn/window.h"
#include "op/real.h"
#include "op/reduce/reduction.h"
#include "op/requirements.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr std::string_view kNoPixels = "an image without pixels cannot be resized";
constexpr std::string_view kLayouts[] = {"NCW", "NCHW", "NCDHW"};

// Of images with so many axes besides batch and channels.
template <size_t count>
struct ResizeAttrs {
  std::vector<Dim> size = {};
  std::optional<std::vector<double>> roi = {};
  std::string layout = std::string(kLayouts[count - 1]);
  std::string method = "linear";
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round";
  double cubic_alpha = -0.5;
  int64_t cubic_exclude = 0;
  double extrapolation_value = 0;
  MaybeDType out_dtype = {};
  static constexpr auto kFields = fields(
      field("size", &ResizeAttrs::size, "the result's extent along each axis, or one for all").required(),
      field("roi", &ResizeAttrs::roi,
            "for tf_crop_and_resize: the start of each axis, then the end of each; 0 is the first pixel, "
            "1 the last"),
      field("layout", &ResizeAttrs::layout, "an order of the letters of the default"),
      field("method", &ResizeAttrs::method, "nearest_neighbor, linear or cubic"),
      field("coordinate_transformation_mode", &ResizeAttrs::coordinate_transformation_mode,
            "half_pixel, asymmetric, align_corners, pytorch_half_pixel, tf_half_pixel_for_nn or "
            "tf_crop_and_resize"),
      field("rounding_method", &ResizeAttrs::rounding_method,
            "for nearest_neighbor: round (halves up), round_prefer_floor, round_prefer_ceil, floor or "
            "ceil; \"\" is round for align_corners and else floor"),
      field("cubic_alpha", &ResizeAttrs::cubic_alpha, "the slope of the cubic"),
      field("cubic_exclude", &ResizeAttrs::cubic_exclude, "1: pixels beyond the border weigh nothing"),
      field("extrapolation_value", &ResizeAttrs::extrapolation_value,
            "for tf_crop_and_resize: the result where the place is outside of the image"),
      field("out_dtype", &ResizeAttrs::out_dtype, "must be the data's"));
};

enum class Method { kNearest, kLinear, kCubic };
enum class Mode { kHalfPixel, kAsymmetric, kAlignCorners, kPytorchHalfPixel, kTfHalfPixel, kTfCrop };
enum class Rounding { kHalfUp, kHalfDown, kFloor, kCeil };

// The attributes, understood.
struct Resize {
  Layout layout;
  Method method;
  Mode mode;
  Rounding rounding;
  double alpha;
  bool exclude;
  std::vector<double> roi;
  double outside;

  size_t axes() const { return layout.axes() - 2; }
};

template <class Choice>
Choice choose(std::string_view attribute, std::string_view word,
              std::initializer_list<std::pair<std::string_view, Choice>> words) {
  for (const auto& [known, choice] : words) {
    if (known == word) return choice;
  }
  std::string all = join(words, ", ", [](const auto& w) { return w.first; });
  throw RelationError{kAttributes, cat(attribute, " must be one of ", all, ", not `", word, "`")};
}

template <size_t count>
Resize read_resize(const ResizeAttrs<count>& a) {
  Resize r;
  r.layout = read_order("layout", a.layout, kLayouts[count - 1]);
  r.method = choose<Method>(
      "method", a.method,
      {{"nearest_neighbor", Method::kNearest}, {"linear", Method::kLinear}, {"cubic", Method::kCubic}});
  r.mode = choose<Mode>("coordinate_transformation_mode", a.coordinate_transformation_mode,
                        {{"half_pixel", Mode::kHalfPixel},
                         {"asymmetric", Mode::kAsymmetric},
                         {"align_corners", Mode::kAlignCorners},
                         {"pytorch_half_pixel", Mode::kPytorchHalfPixel},
                         {"tf_half_pixel_for_nn", Mode::kTfHalfPixel},
                         {"tf_crop_and_resize", Mode::kTfCrop}});
  const Rounding usual = r.mode == Mode::kAlignCorners ? Rounding::kHalfUp : Rounding::kFloor;
  r.rounding = a.rounding_method.empty() ? usual
                                         : choose<Rounding>("rounding_method", a.rounding_method,
                                                            {{"round", Rounding::kHalfUp},
                                                             {"round_prefer_floor", Rounding::kHalfDown},
                                                             {"round_prefer_ceil", Rounding::kHalfUp},
                                                             {"floor", Rounding::kFloor},
                                                             {"ceil", Rounding::kCeil}});
  r.alpha = a.cubic_alpha;
  r.exclude = a.cubic_exclude == 1;
  r.roi = a.roi.value_or(std::vector<double>());
  r.outside = a.extrapolation_value;
  return r;
}

template <size_t count>
Type relate(Relation& r, const ResizeAttrs<count>& a) {
  r.require_rank(0, count + 2);  // C1
  const TensorType& x = r.tensor(0);
  const Resize how = read_resize(a);                                  // C2, C4
  if (how.method != Method::kNearest) require(r, 0, Domain::kFloat);  // C1
  r.require(a.size.size() == 1 || a.size.size() == count, kAttributes,
            cat("size must be 1 or ", count, " extents, not ", a.size.size()));  // C3
  std::vector<Dim> dims = how.layout.extents(x.dims);
  for (size_t axis = 0; axis < count; ++axis) {
    const Dim to = a.size.size() == 1 ? a.size[0] : a.size[axis];
    require_some(r, "size", to);                                        // C3
    require_at_least(r, dims[2 + axis], 1, 0, std::string(kNoPixels));  // C5
    dims[2 + axis] = to;
  }
  const bool crops = how.mode == Mode::kTfCrop;
  const bool zeros = std::all_of(how.roi.begin(), how.roi.end(), [](double v) { return v == 0; });
  r.require(crops || zeros, kAttributes,
            "roi must be empty or zeros: only tf_crop_and_resize reads it");  // C6
  if (crops) {
    const bool finite =
        std::all_of(how.roi.begin(), how.roi.end(), [](double v) { return std::isfinite(v); });
    r.require(finite && how.roi.size() == 2 * count, kAttributes,
              cat("roi must be ", 2 * count, " finite numbers"));  // C7
  }
  r.require(a.cubic_exclude == 0 || a.cubic_exclude == 1, kAttributes, "cubic_exclude must be 0 or 1");  // C6
  r.require(a.out_dtype.value_or(x.dtype) == x.dtype, kAttributes,
            "out_dtype must be the data's dtype");  // C6
  return r.tensor_of(how.layout.shape(dims), x.dtype);
}

// Where index i of an axis of `to` pixels comes from in one of `from`: a fraction, unless it comes
// from the roi. The formulas are written once, for numbers and for index expressions.
int64_t at_least_one(int64_t v) { return std::max<int64_t>(v, 1); }
kernel::Expr at_least_one(kernel::Expr v) { return max(v, v->pool->integer(1)); }
int64_t zero_if_one(int64_t extent, int64_t v) { return extent == 1 ? 0 : v; }
kernel::Expr zero_if_one(kernel::Expr extent, kernel::Expr v) {
  return select(equal(extent, v->pool->integer(1)), v->pool->integer(0), v);
}
bool is_one(int64_t extent) { return extent == 1; }
kernel::Expr is_one(kernel::Expr extent) { return equal(extent, extent->pool->integer(1)); }
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
using kernel::floor_div;

template <class T>
struct Place {
  T numerator, denominator;
};

template <class T>
Place<T> place(const Resize& r, T i, T from, T to) {
  if (r.mode == Mode::kAsymmetric) return {i * from, to};
  if (r.mode == Mode::kAlignCorners) return {i * (from - 1), at_least_one(to - 1)};
  if (r.mode == Mode::kTfHalfPixel) return {(i * 2 + 1) * from, to * 2};
  const T half_pixel = (i * 2 + 1) * from - to;
  return {r.mode == Mode::kPytorchHalfPixel ? zero_if_one(to, half_pixel) : half_pixel, to * 2};
}

template <class T>
T nearest(Rounding rounding, const Place<T>& p) {
  const T &n = p.numerator, &d = p.denominator;
  switch (rounding) {
    case Rounding::kHalfUp: return floor_div(n * 2 + d, d * 2);
    case Rounding::kHalfDown: return floor_div(n * 2 + d - 1, d * 2);  // n and d are integers
    case Rounding::kFloor: return floor_div(n, d);
    case Rounding::kCeil: break;
  }
  return floor_div(n + d - 1, d);
}

// The place where it comes from the roi. It is a number of the dtype that `like` has.
template <class T>
T place_in_roi(const Resize& r, size_t axis, T like, Whole<T> i, Whole<T> from, Whole<T> to) {
  const double start = r.roi[axis], end = r.roi[r.axes() + axis];
  const T last = real_of(like, from - 1);
  const T step = number(like, end - start) * last / real_of(like, at_least_one(to - 1));
  const T middle = number(like, (start + end) / 2) * last;
  return select(is_one(to), middle, number(like, start) * last + real_of(like, i) * step);
}

template <class T>
Whole<T> nearest_to(Rounding rounding, T place) {
  switch (rounding) {
    case Rounding::kHalfUp: return whole_of(floor(place + number(place, 0.5)));
    case Rounding::kHalfDown: return whole_of(ceil(place - number(place, 0.5)));
    case Rounding::kFloor: return whole_of(floor(place));
    case Rounding::kCeil: break;
  }
  return whole_of(ceil(place));
}

// The weights of the pixels around a place that is the fraction f behind one of them, from left to
// right.
template <class T>
std::vector<T> weights(const Resize& r, T f) {
  const T one = number(f, 1), g = one - f;
  if (r.method == Method::kLinear) return {g, f};
  const T a = number(f, r.alpha), a2 = number(f, r.alpha + 2), a3 = number(f, r.alpha + 3),
          a4 = number(f, 4 * r.alpha);
  const auto near = [&](T t) { return (a2 * t - a3) * t * t + one; };
  const auto far = [&](T t) { return ((t - number(f, 5)) * t + number(f, 8)) * t * a - a4; };
  return {far(one + f), near(f), near(g), far(one + g)};
}

// What index i of an axis is made of: pixels that exist, and their weights.
template <class T>
struct Pixels {
  std::vector<Whole<T>> index;
  std::vector<T> weight;            // empty: 1
  std::optional<Truth<T>> outside;  // the place is no part of the image
};

template <class T>
Pixels<T> pixels(const Resize& r, size_t axis, T like, Whole<T> i, Whole<T> from, Whole<T> to) {
  Pixels<T> out;
  std::optional<T> in_roi;
  std::optional<Place<Whole<T>>> fraction;
  if (r.mode == Mode::kTfCrop) {
    in_roi = place_in_roi(r, axis, wider(like), i, from, to);
    out.outside = either(less(*in_roi, number(*in_roi, 0)), less(real_of(*in_roi, from - 1), *in_roi));
  } else {
    fraction = place<Whole<T>>(r, i, from, to);
  }
  const auto inside = [&](Whole<T> k) { return between(k, whole(from, 0), from - 1); };
  if (r.method == Method::kNearest) {
    out.index = {inside(in_roi ? nearest_to(r.rounding, *in_roi) : nearest(r.rounding, *fraction))};
    return out;
  }
  const Whole<T> base =
      in_roi ? whole_of(floor(*in_roi)) : floor_div(fraction->numerator, fraction->denominator);
  const T f = in_roi ? in_dtype_of(like, *in_roi - floor(*in_roi))
                     : real_of(like, fraction->numerator - base * fraction->denominator) /
                           real_of(like, fraction->denominator);
  out.weight = weights(r, f);
  const auto before = static_cast<int64_t>(out.weight.size() / 2 - 1);
  std::optional<T> sum;
  for (size_t k = 0; k < out.weight.size(); ++k) {
    const Whole<T> index = base + (static_cast<int64_t>(k) - before);
    out.index.push_back(inside(index));
    if (!r.exclude || r.method != Method::kCubic) continue;
    out.weight[k] = select(is_inside(index, from), out.weight[k], number(like, 0));
    sum = sum ? *sum + out.weight[k] : out.weight[k];
  }
  if (sum) {
    for (T& w : out.weight) w = w / *sum;
  }
  return out;
}

// The weighted sums, or those of their terms' magnitudes.
template <size_t count, class Sum>
void resample(const ResizeAttrs<count>& a, const Tensor& x, Results out, bool magnitudes, Sum zero) {
  const Resize r = read_resize(a);
  const auto counted = [&](Sum v) { return magnitudes ? std::fabs(v) : v; };
  const std::vector<int64_t> from = r.layout.extents(x.shape()), to = r.layout.extents(out[0].shape());
  std::array<std::vector<Pixels<Real>>, count> all;
  for (size_t axis = 0; axis < count; ++axis) {
    for (int64_t i = 0; i < to[2 + axis]; ++i)
      all[axis].push_back(pixels(r, axis, Real{0, kFloat64}, i, from[2 + axis], to[2 + axis]));
  }
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> at = r.layout.coordinates(index);
    std::array<const Pixels<Real>*, count> line;
    Shape taken(count);  // how many pixels of each axis
    bool outside = false;
    for (size_t axis = 0; axis < count; ++axis) {
      line[axis] = &all[axis][static_cast<size_t>(at[2 + axis])];
      taken[axis] = static_cast<int64_t>(line[axis]->index.size());
      outside |= line[axis]->outside.value_or(false);
    }
    if (outside) return out[0].set(number++, magnitudes ? std::fabs(r.outside) : r.outside);
    Sum sum = zero;
    for_each_index(taken, [&](const std::vector<int64_t>& k) {
      Sum weight = 1;
      for (size_t axis = 0; axis < count; ++axis) {
        const auto nth = static_cast<size_t>(k[axis]);
        at[2 + axis] = line[axis]->index[nth];
        if (!line[axis]->weight.empty()) weight *= static_cast<Sum>(line[axis]->weight[nth].value);
      }
      const int64_t element = offset_of(x.shape(), r.layout.index(at));
      if (r.method == Method::kNearest && !magnitudes) return copy_element(x, element, out[0], number);
      sum += counted(weight * static_cast<Sum>(x.get(element)));
    });
    if (r.method != Method::kNearest || magnitudes) out[0].set(number, sum);
    ++number;
  });
}

template <size_t count>
void evaluate(const ResizeAttrs<count>& a, Args in, Results out, Sums sums) {
  const DType d = in[0].dtype();
  with_zero(d.is_float() ? sums : Sums::kDouble, d, [&](auto zero) { resample(a, in[0], out, false, zero); });
}

template <size_t count>
void terms(const Attrs& attrs, Args in, Results out) {
  resample(read_attrs<ResizeAttrs<count>>(attrs), in[0], out, true, 0.0);
}

// The weighted sum over the pixels of this axis and those behind it. `at` has the others.
kernel::Expr weighted(const Resize& r, const kernel::Tensor& x, DType wide, size_t axis,
                      const std::vector<Pixels<kernel::Expr>>& all, std::vector<kernel::Expr>& at) {
  if (axis == all.size()) return cast(wide, x.at(r.layout.index(at)));
  kernel::Expr sum;
  for (size_t k = 0; k < all[axis].index.size(); ++k) {
    at[2 + axis] = all[axis].index[k];
    const kernel::Expr term = all[axis].weight[k] * weighted(r, x, wide, axis + 1, all, at);
    sum = sum ? sum + term : term;
  }
  return sum;
}

template <size_t count>
std::vector<kernel::Tensor> lower(kernel::Builder& k, const ResizeAttrs<count>& a, const Lowering& l) {
  const Resize r = read_resize(a);
  const kernel::Tensor& x = l.in[0];
  const std::vector<kernel::Expr> from = r.layout.extents(x.shape()), to = r.layout.extents(l.shape());
  const DType wide = l.dtype().is_float() ? accumulator(l.dtype()) : kFloat32;
  return {k.compute(cat("resize", count, "d"), l.dtype(), l.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> at = r.layout.coordinates(copy_of(i));
    std::vector<Pixels<kernel::Expr>> all;
    kernel::Expr outside;
    for (size_t axis = 0; axis < count; ++axis) {
      const size_t d = 2 + axis;
      k.require_shape(less(k.index(0), from[d]), kNoPixels);
      all.push_back(pixels(r, axis, k.constant(wide, 0), at[d], from[d], to[d]));
      if (const auto& o = all.back().outside) outside = outside ? either(outside, *o) : *o;
    }
    kernel::Expr value;
    if (r.method == Method::kNearest) {
      for (size_t axis = 0; axis < count; ++axis) at[2 + axis] = all[axis].index[0];
      value = x.at(r.layout.index(at));
    } else {
      value = cast(l.dtype(), weighted(r, x, wide, 0, all, at));
    }
    return outside ? select(outside, k.constant(l.dtype(), r.outside), value) : value;
  })};
}

// The weights are polynomials of a fraction: some roundings more than there are terms. Weights that
// are brought to a sum of 1 cost a division each.
template <size_t count>
int64_t length(std::span<const Type>, const Attrs& attrs) {
  const Resize r = read_resize(read_attrs<ResizeAttrs<count>>(attrs));
  const auto axes = static_cast<int64_t>(count);
  if (r.method == Method::kNearest) return 0;
  if (r.method == Method::kLinear) return 4 * axes;
  return (r.exclude ? 16 : 8) * (int64_t{1} << 2 * axes);
}

template <size_t count>
OpDef definition(std::string name, std::string doc, std::string_view data) {
  return define<ResizeAttrs<count>>({
      .name = std::move(name),
      .doc = std::move(doc),
      .params = {{"data", data}},
      .fusion = Fusion::kInjective,
      .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length<count>, .terms = terms<count>},
      .relate = relate<count>,
      .evaluate = evaluate<count>,
      .lower = lower<count>,
  });
}

}  // namespace

const OpDef kResize1d = definition<1>("image.resize1d",
                                      "Rows of another size: the nearest element, or a weighted mean of "
                                      "those around.",
                                      "a batch of rows");
const OpDef kResize2d = definition<2>("image.resize2d",
                                      "Images of another size: the nearest pixel, or a weighted mean of "
                                      "those around.",
                                      "a batch of images");
const OpDef kResize3d = definition<3>("image.resize3d",
                                      "Volumes of another size: the nearest element, or a weighted mean of "
                                      "those around.",
                                      "a batch of volumes");

}  // namespace relay::op
