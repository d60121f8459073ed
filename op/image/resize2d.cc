// image.resize2d(data)[n, c, y, x]: the image at the place that (y, x) comes from, in between its pixels.
//
//   half_pixel          (y + 1/2) * h / h' - 1/2
//   asymmetric          y * h / h'
//   align_corners       y * (h - 1) / (h' - 1), and 0 if h' = 1
//   pytorch_half_pixel  as half_pixel, but 0 if h' = 1
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c, h', w'), d]
//   C1: data has rank 4; a floating-point dtype unless the method is nearest_neighbor.
//   C2: the layout is an order of NCHW.   C3: size is one or two positive extents.
//   C4: method, coordinate_transformation_mode and rounding_method are known words.
//   C5: the image has at least one pixel.
//   C6: roi is empty, cubic_exclude is 0 and out_dtype the data's.
//
// nearest_neighbor takes one pixel, linear weighs 2 x 2 and cubic 4 x 4 of them; pixels beyond the
// border are those at the border. The place is a fraction of integers, so that which pixels are
// meant does not depend on rounding.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/window.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct Resize2dAttrs {
  std::vector<Dim> size = {};
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
      fields(field("size", &Resize2dAttrs::size, "height and width of the result").required(),
             field("roi", &Resize2dAttrs::roi, "must be empty"),
             field("layout", &Resize2dAttrs::layout, "an order of the letters NCHW"),
             field("method", &Resize2dAttrs::method, "nearest_neighbor, linear or cubic"),
             field("coordinate_transformation_mode", &Resize2dAttrs::coordinate_transformation_mode,
                   "half_pixel, asymmetric, align_corners or pytorch_half_pixel"),
             field("rounding_method", &Resize2dAttrs::rounding_method,
                   "for nearest_neighbor: round (halves up), round_prefer_floor, round_prefer_ceil, floor or "
                   "ceil; \"\" is "
                   "round for align_corners and else floor"),
             field("cubic_alpha", &Resize2dAttrs::cubic_alpha, "the slope of the cubic"),
             field("cubic_exclude", &Resize2dAttrs::cubic_exclude, "must be 0"),
             field("extrapolation_value", &Resize2dAttrs::extrapolation_value,
                   "unused, as nothing is outside without a roi"),
             field("out_dtype", &Resize2dAttrs::out_dtype, "must be the data's"));
};

enum class Method { kNearest, kLinear, kCubic };
enum class Mode { kHalfPixel, kAsymmetric, kAlignCorners, kPytorchHalfPixel };
enum class Rounding { kHalfUp, kHalfDown, kFloor, kCeil };

// The attributes, understood.
struct Resize {
  Layout layout;
  Method method;
  Mode mode;
  Rounding rounding;
  double alpha;
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

Resize read_resize(const Resize2dAttrs& a) {
  Resize r;
  r.layout = read_order("layout", a.layout, "NCHW");
  r.method = choose<Method>(
      "method", a.method,
      {{"nearest_neighbor", Method::kNearest}, {"linear", Method::kLinear}, {"cubic", Method::kCubic}});
  r.mode = choose<Mode>("coordinate_transformation_mode", a.coordinate_transformation_mode,
                        {{"half_pixel", Mode::kHalfPixel},
                         {"asymmetric", Mode::kAsymmetric},
                         {"align_corners", Mode::kAlignCorners},
                         {"pytorch_half_pixel", Mode::kPytorchHalfPixel}});
  const Rounding usual = r.mode == Mode::kAlignCorners ? Rounding::kHalfUp : Rounding::kFloor;
  r.rounding = a.rounding_method.empty() ? usual
                                         : choose<Rounding>("rounding_method", a.rounding_method,
                                                            {{"round", Rounding::kHalfUp},
                                                             {"round_prefer_floor", Rounding::kHalfDown},
                                                             {"round_prefer_ceil", Rounding::kHalfUp},
                                                             {"floor", Rounding::kFloor},
                                                             {"ceil", Rounding::kCeil}});
  r.alpha = a.cubic_alpha;
  return r;
}

Type relate(Relation& r, const Resize2dAttrs& a) {
  r.require_rank(0, 4);  // C1
  const TensorType& x = r.tensor(0);
  const Resize how = read_resize(a);                                  // C2, C4
  if (how.method != Method::kNearest) require(r, 0, Domain::kFloat);  // C1
  const std::vector<Dim> size = read_extents("size", a.size);         // C3
  std::array<Dim, 4> dims = parts(how.layout, x.dims);
  for (size_t axis = 0; axis < 2; ++axis) {
    r.require(dims[2 + axis] != Dim(0), 0, "an image without pixels cannot be resized");  // C5
    dims[2 + axis] = size[axis];
  }
  r.require(!a.roi || a.roi->empty(), kAttributes, "roi must be empty");    // C6
  r.require(a.cubic_exclude == 0, kAttributes, "cubic_exclude must be 0");  // C6
  r.require(a.out_dtype.value_or(x.dtype) == x.dtype, kAttributes,
            "out_dtype must be the data's dtype");  // C6
  return r.tensor_of(how.layout.shape(dims), x.dtype);
}

// Where index i of an axis of `to` pixels comes from in one of `from`: a fraction. The formulas are
// written once, for numbers and for index expressions.
int64_t at_least_one(int64_t v) { return std::max<int64_t>(v, 1); }
kernel::Expr at_least_one(kernel::Expr v) { return max(v, v->pool->integer(1)); }
int64_t zero_if_one(int64_t extent, int64_t v) { return extent == 1 ? 0 : v; }
kernel::Expr zero_if_one(kernel::Expr extent, kernel::Expr v) {
  return select(equal(extent, v->pool->integer(1)), v->pool->integer(0), v);
}
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

// The weights of the pixels around a place that is the fraction f behind one of them,
// from left to right.
std::vector<double> weights(const Resize& r, double f) {
  if (r.method == Method::kLinear) return {1 - f, f};
  const double a = r.alpha, g = 1 - f;
  const auto near = [a](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  const auto far = [a](double t) { return ((t - 5) * t + 8) * t * a - 4 * a; };
  return {far(1 + f), near(f), near(g), far(1 + g)};
}

std::vector<kernel::Expr> weights(const Resize& r, kernel::Expr f) {
  const auto number = [&](double v) { return f->pool->real(v, f->dtype); };
  const kernel::Expr one = number(1), g = one - f;
  if (r.method == Method::kLinear) return {g, f};
  const kernel::Expr a = number(r.alpha), a2 = number(r.alpha + 2), a3 = number(r.alpha + 3),
                     a4 = number(4 * r.alpha);
  const auto near = [&](kernel::Expr t) { return (a2 * t - a3) * t * t + one; };
  const auto far = [&](kernel::Expr t) { return ((t - number(5)) * t + number(8)) * t * a - a4; };
  return {far(one + f), near(f), near(g), far(one + g)};
}

struct Pixel {
  int64_t index;
  double weight;
};

// The pixels that index i of an axis is made of.
std::vector<Pixel> pixels(const Resize& r, int64_t i, int64_t from, int64_t to) {
  const Place<int64_t> p = place(r, i, from, to);
  const auto inside = [&](int64_t k) { return std::clamp<int64_t>(k, 0, from - 1); };
  if (r.method == Method::kNearest) return {{inside(nearest(r.rounding, p)), 1}};
  const int64_t base = floor_div(p.numerator, p.denominator);
  const double f =
      static_cast<double>(p.numerator - base * p.denominator) / static_cast<double>(p.denominator);
  std::vector<Pixel> out;
  const std::vector<double> w = weights(r, f);
  const int64_t first = base - static_cast<int64_t>(w.size() / 2 - 1);
  for (size_t k = 0; k < w.size(); ++k) out.push_back({inside(first + static_cast<int64_t>(k)), w[k]});
  return out;
}

void evaluate(const Resize2dAttrs& a, Args in, Results out) {
  const Resize r = read_resize(a);
  const Tensor& x = in[0];
  const std::array<int64_t, 4> from = parts(r.layout, x.shape()), to = parts(r.layout, out[0].shape());
  const std::vector<int64_t> step = strides_of(x.shape(), r.layout);
  std::array<std::vector<std::vector<Pixel>>, 2> all;
  for (size_t axis = 0; axis < 2; ++axis) {
    for (int64_t i = 0; i < to[2 + axis]; ++i)
      all[axis].push_back(pixels(r, i, from[2 + axis], to[2 + axis]));
  }
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& index) {
    const std::array<int64_t, 4> at = parts(r.layout, index);
    const std::vector<Pixel>& rows = all[0][static_cast<size_t>(at[2])];
    const std::vector<Pixel>& columns = all[1][static_cast<size_t>(at[3])];
    const int64_t image = at[0] * step[0] + at[1] * step[1];
    const auto element = [&](const Pixel& row, const Pixel& column) {
      return image + row.index * step[2] + column.index * step[3];
    };
    if (r.method == Method::kNearest) {
      copy_element(x, element(rows[0], columns[0]), out[0], number++);
      return;
    }
    double sum = 0;
    for (const Pixel& row : rows) {
      for (const Pixel& column : columns) sum += row.weight * column.weight * x.get(element(row, column));
    }
    out[0].set(number++, sum);
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const Resize2dAttrs& a, const Lowering& l) {
  const Resize r = read_resize(a);
  const kernel::Tensor& x = l.in[0];
  const std::array<kernel::Expr, 4> from = parts(r.layout, x.shape()), to = parts(r.layout, l.shape());
  const DType wide = l.dtype().bits < 32 ? kFloat32 : l.dtype();
  return {k.compute("resize2d", l.dtype(), l.shape(), [&](kernel::Indices i) {
    std::array<kernel::Expr, 4> at = parts(r.layout, i);
    const auto inside = [&](size_t d, kernel::Expr e) { return min(max(e, k.index(0)), from[d] - 1); };
    if (r.method == Method::kNearest) {
      for (const size_t d : {2, 3}) at[d] = inside(d, nearest(r.rounding, place(r, at[d], from[d], to[d])));
      return x.at(r.layout.index(at));
    }
    std::array<kernel::Expr, 2> first;
    std::array<std::vector<kernel::Expr>, 2> w;
    for (const size_t d : {2, 3}) {
      const Place<kernel::Expr> p = place(r, at[d], from[d], to[d]);
      const kernel::Expr base = floor_div(p.numerator, p.denominator);
      w[d - 2] = weights(r, cast(wide, p.numerator - base * p.denominator) / cast(wide, p.denominator));
      first[d - 2] = base - static_cast<int64_t>(w[d - 2].size() / 2 - 1);
    }
    kernel::Expr sum;
    for (size_t u = 0; u < w[0].size(); ++u) {
      kernel::Expr line;
      for (size_t v = 0; v < w[1].size(); ++v) {
        at[2] = inside(2, first[0] + static_cast<int64_t>(u));
        at[3] = inside(3, first[1] + static_cast<int64_t>(v));
        const kernel::Expr term = w[1][v] * cast(wide, x.at(r.layout.index(at)));
        line = line ? line + term : term;
      }
      sum = sum ? sum + w[0][u] * line : w[0][u] * line;
    }
    return cast(l.dtype(), sum);
  })};
}

// The weights are polynomials of a fraction: some roundings more than there are terms.
// Negative weights of the cubic make its sum of magnitudes up to four times what the operator
// gives for magnitudes.
int64_t length(std::span<const Type>, const Attrs& attrs) {
  const Resize r = read_resize(read_attrs<Resize2dAttrs>(attrs));
  return r.method == Method::kNearest ? 0 : r.method == Method::kLinear ? 8 : 128;
}

}  // namespace

const OpDef kResize2d = define<Resize2dAttrs>({
    .name = "image.resize2d",
    .doc = "Images of another size: the nearest pixel, or a weighted mean of those around.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .not_differentiable = "the adjoint, which spreads a pixel over its neighbours, is not offered",
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
