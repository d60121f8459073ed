// image.grid_sample(data, grid)[n, c, y, x] = data[n, c] at the place (grid[n, 1, y, x], grid[n, 0, y, x])
//
//   (Tensor[(n, c, h.., w), d], Tensor[(n, axes, y.., x), e]) -> Tensor[(n, c, y.., x), d]
//   C1: data has rank 4, or 5 for a volume, and so has the grid; both are floating-point.
//   C2: the layout is NCHW, or NCDHW for a volume.
//   C3: both have the same batch, and dimension 1 of the grid is the number of axes.
//   C4: method and padding_mode are known words; bicubic is for images, not for volumes.
//   C5: the image has at least one pixel.
//
// A grid counts from the last axis to the first: x, y and, in a volume, z. Its -1 and 1 are the
// centres of the first and the last pixel with align_corners, and else the outer borders of these
// pixels. Of a volume `bilinear` is trilinear; `nearest` rounds halves to even; bicubic has the
// slope -0.75. Pixels outside are 0 (zeros), those at the border (border), or the mirror images of
// those inside (reflection). A place that is NaN gives NaN, and with `nearest` the first pixel.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/cat.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/real.h"
#include "op/reduce/reduction.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr std::string_view kNoPixels = "an image without pixels has none to give";

struct GridSampleAttrs {
  std::string method = "bilinear";
  std::string layout = "NCHW";
  std::string padding_mode = "zeros";
  bool align_corners = true;
  static constexpr auto kFields =
      fields(field("method", &GridSampleAttrs::method, "nearest, bilinear or bicubic"),
             field("layout", &GridSampleAttrs::layout, "NCHW, or NCDHW for a volume"),
             field("padding_mode", &GridSampleAttrs::padding_mode, "zeros, border or reflection"),
             field("align_corners", &GridSampleAttrs::align_corners,
                   "-1 and 1 are the centres of the pixels at the border, and not their outer sides"));
};

// (Tensor[(n, c, h.., w), d], Tensor[(n, axes, y.., x), e]) -> Tensor[(n, c, y.., x), d]
Type relate(Relation& r, const GridSampleAttrs& a) {
  const TensorType &x = r.tensor(0), &g = r.tensor(1);
  require(r, 0, Domain::kFloat);  // C1
  require(r, 1, Domain::kFloat);  // C1
  r.require(x.rank() == 4 || x.rank() == 5, 0,
            cat("expected a tensor of rank 4 or 5, found rank ", x.rank()));  // C1
  r.require_rank(1, x.rank());                                                // C1
  const std::string_view layout = x.rank() == 4 ? "NCHW" : "NCDHW";
  r.require(a.layout == layout, kAttributes, cat("layout must be ", layout, ", not `", a.layout, "`"));  // C2
  const auto one_of = [&](std::string_view attribute, std::string_view word,
                          std::initializer_list<std::string_view> words) {
    r.require(std::find(words.begin(), words.end(), word) != words.end(), kAttributes,
              cat(attribute, " must be one of ", join(words, ", ", [](auto w) { return w; }), ", not `", word,
                  "`"));
  };
  one_of("method", a.method, {"nearest", "bilinear", "bicubic"});                                // C4
  one_of("padding_mode", a.padding_mode, {"zeros", "border", "reflection"});                     // C4
  r.require(a.method != "bicubic" || x.rank() == 4, kAttributes, "bicubic is not for volumes");  // C4
  std::vector<Dim> out{r.same(g.dims[0], x.dims[0], 1, "batch", 0), x.dims[1]};                  // C3
  r.same(g.dims[1], Dim(static_cast<int64_t>(x.rank()) - 2), 1, "number of axes");               // C3
  for (size_t d = 2; d < x.rank(); ++d) {
    r.require(x.dims[d] != Dim(0), 0, kNoPixels);  // C5
    out.push_back(g.dims[d]);
  }
  return r.tensor_of(out, x.dtype);
}

// The place in pixels of an axis with so many of them. Unless it is mirrored, it is brought to at
// most four pixels outside of the image: those that are further away give the same.
template <class T>
T in_pixels(const GridSampleAttrs& a, T place, Whole<T> extent) {
  const T one = number(place, 1), half = number(place, 0.5), size = real_of(place, extent);
  const T pixels =
      a.align_corners ? (place + one) * half * (size - one) : ((place + one) * size - one) * half;
  if (a.padding_mode == "reflection") return pixels;
  return min(max(pixels, number(place, -4)), size + number(place, 3));
}

// A place that is outside is mirrored until it is not. The mirrors stand at the centres of the
// pixels at the border, or at their outer sides.
template <class T>
T reflected(const GridSampleAttrs& a, T place, Whole<T> extent) {
  const T zero = number(place, 0), size = real_of(place, extent);
  const T low = number(place, a.align_corners ? 0 : -0.5);
  const T span = a.align_corners ? max(size - number(place, 1), number(place, 1)) : size;
  const T far = magnitude(place - low), turns = floor(far / span), rest = far - turns * span;
  const T odd = turns - number(place, 2) * floor(turns * number(place, 0.5));
  const T inside = select(equal(odd, zero), rest + low, span - rest + low);
  return min(max(inside, zero), size - number(place, 1));
}

template <class T>
T padded(const GridSampleAttrs& a, T place, Whole<T> extent) {
  if (a.padding_mode == "zeros") return place;
  if (a.padding_mode == "reflection") return reflected(a, place, extent);
  return min(max(place, number(place, 0)), real_of(place, extent) - number(place, 1));
}

// A pixel of an axis: its index, which exists; whether it is the one that is meant, and not
// padding; and its weight.
template <class T>
struct Tap {
  Whole<T> index;
  Truth<T> exists;
  std::optional<T> weight;  // none: 1
};

// The weights of the four pixels around a place that is the fraction f behind the second of them.
template <class T>
std::array<T, 4> cubic_weights(T f) {
  const T one = number(f, 1), a = number(f, -0.75);
  const auto near = [&](T t) { return (number(f, 1.25) * t - number(f, 2.25)) * t * t + one; };
  const auto far = [&](T t) { return ((t - number(f, 5)) * t + number(f, 8)) * t * a - a * number(f, 4); };
  return {far(one + f), near(f), near(one - f), far(number(f, 2) - f)};
}

// The pixels of an axis that a place of the grid is made of. Weights have the dtype of `like`.
template <class T>
std::vector<Tap<T>> taps(const GridSampleAttrs& a, T grid, T like, Whole<T> extent) {
  std::vector<Tap<T>> out;
  const auto add = [&](Whole<T> index, std::optional<T> weight) {
    out.push_back({between(index, whole(extent, 0), extent - 1), is_inside(index, extent), weight});
  };
  const T place = in_pixels(a, grid, extent);
  if (a.method == "nearest") {
    add(whole_of(round(padded(a, place, extent))), std::nullopt);
    return out;
  }
  if (a.method == "bilinear") {
    const T inside = padded(a, place, extent), base = floor(inside);
    const T f = in_dtype_of(like, inside - base);
    add(whole_of(base), number(f, 1) - f);
    add(whole_of(base) + 1, f);
    return out;
  }
  const T base = floor(place);
  const std::array<T, 4> weight = cubic_weights(in_dtype_of(like, place - base));
  for (int k = 0; k < 4; ++k) {
    const T at = padded(a, base + number(base, k - 1), extent);
    add(whole_of(at), weight[static_cast<size_t>(k)]);
  }
  return out;
}

// The sum over the pixels that a place is made of, with weights or, for the magnitude of its terms,
// of the largest weights that there are.
enum class Weights { kExact, kLargest };

void sample(const GridSampleAttrs& a, Args in, Results out, Weights weights) {
  const Tensor &x = in[0], &grid = in[1];
  const size_t axes = x.rank() - 2;
  const DType computed = accumulator(grid.dtype());
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& i) {
    std::vector<std::vector<Tap<Real>>> all;
    std::vector<int64_t> at(i), from(i);
    Shape count;
    for (size_t axis = 0; axis < axes; ++axis) {
      at[1] = static_cast<int64_t>(axes - 1 - axis);
      const Real place = {grid.get(offset_of(grid.shape(), at)), computed};
      all.push_back(taps(a, place, Real{0, kFloat64}, x.shape()[2 + axis]));
      count.push_back(static_cast<int64_t>(all.back().size()));
    }
    double sum = 0;
    for_each_index(count, [&](const std::vector<int64_t>& k) {
      double weight = 1;
      bool exists = true;
      for (size_t axis = 0; axis < axes; ++axis) {
        const Tap<Real>& tap = all[axis][static_cast<size_t>(k[axis])];
        from[2 + axis] = tap.index;
        exists &= tap.exists;
        if (tap.weight) weight *= tap.weight->value;
      }
      if (!exists) return;
      const double pixel = x.get(offset_of(x.shape(), from));
      sum += weights == Weights::kExact ? weight * pixel : std::fabs(pixel);
    });
    out[0].set(number++, sum);
  });
}

void evaluate(const GridSampleAttrs& a, Args in, Results out) { sample(a, in, out, Weights::kExact); }

// A place that is rounded differs by as many roundings as the axis has pixels, and so do the
// weights of all pixels around it, which may be 0.
void terms(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  sample(read_attrs<GridSampleAttrs>(attrs), in, out, Weights::kLargest);
}

int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const std::string& method = read_attrs<GridSampleAttrs>(attrs).method;
  if (method == "nearest") return 0;
  int64_t out = method == "bilinear" ? 16 : 128;
  const TensorType& x = *args[0]->as<TensorType>();
  for (size_t d = 2; d < x.rank(); ++d) out += x.dims[d].is_const() ? 8 * x.dims[d].value() : 0;
  return out;
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const GridSampleAttrs& a, const Lowering& c) {
  const kernel::Tensor &x = c.in[0], &grid = c.in[1];
  const size_t axes = x.rank() - 2;
  const DType wide = accumulator(c.dtype()), computed = accumulator(grid.dtype());
  return {k.compute("grid_sample", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<std::vector<Tap<kernel::Expr>>> all;
    std::vector<kernel::Expr> at = copy_of(i);
    Shape count;
    for (size_t axis = 0; axis < axes; ++axis) {
      at[1] = k.index(static_cast<int64_t>(axes - 1 - axis));
      k.require_shape(less(k.index(0), x.dim(2 + axis)), kNoPixels);
      all.push_back(taps(a, cast(computed, grid.at(at)), k.constant(wide, 0), x.dim(2 + axis)));
      count.push_back(static_cast<int64_t>(all.back().size()));
    }
    kernel::Expr sum;
    std::vector<kernel::Expr> from = copy_of(i);
    for_each_index(count, [&](const std::vector<int64_t>& n) {
      kernel::Expr weight, exists = k.constant(kBool, 1);
      for (size_t axis = 0; axis < axes; ++axis) {
        const Tap<kernel::Expr>& tap = all[axis][static_cast<size_t>(n[axis])];
        from[2 + axis] = tap.index;
        exists = both(exists, tap.exists);
        if (tap.weight) weight = weight ? weight * *tap.weight : *tap.weight;
      }
      const kernel::Expr pixel = cast(wide, x.at(from));
      const kernel::Expr term = select(exists, weight ? weight * pixel : pixel, k.constant(wide, 0));
      sum = sum ? sum + term : term;
    });
    return cast(c.dtype(), sum);
  })};
}

}  // namespace

const OpDef kGridSample = define<GridSampleAttrs>({
    .name = "image.grid_sample",
    .doc = "An image at the places that a grid names, in between its pixels.",
    .params = {{"data", "a batch of images or volumes"},
               {"grid", "for each element of the result its place: x, y and, in a volume, z"}},
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
