// nn.deformable_conv2d(data, offset, weight)[n, o, y, x] =
//     sum over i, u, v of weight[o, i, u, v] * sample of data[n, g*I + i] at (row, column)
//     row = y*s + u*d - p + offset[n, 2*k, y, x]
//     column = x*s + v*d - p + offset[n, 2*k + 1, y, x]
//     where k = (e*kh + u)*kw + v for channels of offset group e
//
//   (Tensor[(n, c, h, w), d], Tensor[(n, k, h', w'), d], Tensor[(o, i, kh, kw), d]) -> Tensor[(n, o,
//   h', w'), r]
//   C1: data is a floating-point tensor of rank 4.
//   C2: the layouts are orders of NCHW and OIHW; offset has that of data.
//   C3: what nn.conv2d requires of strides, dilation, padding and groups.
//   C4: r, which is out_dtype, is floating.
//   C5: what nn.conv2d requires of the weight.
//   C6: deformable_groups is positive and divides the input channels.
//   C7: offset has the data's dtype, and two numbers for each element of each window and group.
//
// A sample is bilinear between the four elements around its place. It is 0 outside of the image,
// where row or column is negative, or at least the extent, or NaN. Between the last row or column
// and the edge of the image, the last one counts for both neighbours. With zero_border the image
// goes on with zeros on all sides instead.
//
// Places are computed in float32, or in float64 if d is. o is in group g = o // (O / groups), which
// sees I = c / groups channels.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "op/nn/convolution.h"
#include "op/nn/fit.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct DeformableAttrs : ConvolutionAttrs {
  int64_t deformable_groups = 1;
  bool zero_border = false;
  static constexpr auto kFields = std::tuple_cat(
      ConvolutionAttrs::kFields,
      fields(field("deformable_groups", &DeformableAttrs::deformable_groups,
                   "each group of input channels has offsets of its own"),
             field("zero_border", &DeformableAttrs::zero_border,
                   "around the image there are zeros, also where a place is between one and a pixel")));
};

Type relate(Relation& r, const DeformableAttrs& a) {
  r.require_rank(0, 4);                               // C1
  r.require_float(0);                                 // C1
  const Convolution c = read_convolution(a);          // C2, C3
  const DType result = result_dtype(r, a.out_dtype);  // C4
  const std::vector<Dim> x = c.data.extents(r.tensor(0).dims);
  const Dim within = whole_groups(r, x[1], c.groups, 0, "input channels");           // C3
  const std::vector<Dim> w = relate_weight(r, a, c, {a.channels, within}, 2);        // C5
  whole_groups(r, w[0], c.groups, r.known(2) ? 2 : kAttributes, "output channels");  // C3
  r.require(a.deformable_groups >= 1, kAttributes,
            cat("deformable_groups must be positive, not ", a.deformable_groups));  // C6
  whole_groups(r, x[1], a.deformable_groups, 0, "input channels");                  // C6
  std::vector<Dim> y{x[0], w[0]};
  for (size_t axis = 0; axis < 2; ++axis)
    y.push_back(fitting_windows(r, c.window, axis, x[2 + axis], w[2 + axis]));  // C3
  r.require_rank(1, 4);                                                         // C7
  r.require_same_dtype(1, 0);                                                   // C7
  const std::vector<Dim> offset = c.data.extents(r.tensor(1).dims);
  const Dim numbers = w[2] * w[3] * 2 * a.deformable_groups;
  const std::vector<Dim> wanted{x[0], numbers, y[2], y[3]};
  for (size_t d = 0; d < 4; ++d) r.same(offset[d], wanted[d], 1, cat("axis ", d, " of the offset"), 0);  // C7
  return r.tensor_of(c.data.shape(y), result);
}

// The value at a place of an image, where `element` gives that of a pixel. T is the type of places.
template <class T, class F>
double sample(T row, T column, int64_t height, int64_t width, bool zero_border, const F& element) {
  const auto inside = [&](T place, int64_t extent) {
    return (zero_border ? place > -1 : place >= 0) && place < static_cast<T>(extent);
  };
  if (!inside(row, height) || !inside(column, width)) return 0;
  const T top = std::floor(row), left = std::floor(column);
  const T down = row - top, right = column - left;
  const auto pixel = [&](int64_t y, int64_t x) {
    const bool is_one = y >= 0 && y < height && x >= 0 && x < width;
    if (zero_border && !is_one) return 0.0;
    return element(std::min(y, height - 1), std::min(x, width - 1));
  };
  const auto y = static_cast<int64_t>(top), x = static_cast<int64_t>(left);
  const double upper = pixel(y, x) * (1 - right) + pixel(y, x + 1) * right;
  const double lower = pixel(y + 1, x) * (1 - right) + pixel(y + 1, x + 1) * right;
  return upper * (1 - down) + lower * down;
}

template <class T>
void convolve(const DeformableAttrs& a, Args in, Results out, Sums sums, bool magnitudes) {
  const Convolution c = read_convolution(a);
  const Tensor &data = in[0], &offset = in[1], &weight = in[2];
  const auto shape = c.data.extents(data.shape()), result = c.data.extents(out[0].shape());
  const auto size = c.weight.extents(weight.shape());
  const auto xs = strides_of(data.shape(), c.data), ws = strides_of(weight.shape(), c.weight);
  const auto os = strides_of(offset.shape(), c.data);
  const Window& w = c.window;
  const auto value = [&](const Tensor& t, int64_t at) {
    return magnitudes ? std::fabs(t.get(at)) : t.get(at);
  };
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& index) {
    const std::vector<int64_t> at = c.data.coordinates(index);
    const int64_t first = at[1] / (result[1] / c.groups) * size[1];  // input channel of the group
    with_zero(sums, data.dtype(), [&](auto sum) {
      for (int64_t i = 0; i < size[1]; ++i) {
        const int64_t channel = first + i, group = channel / (shape[1] / a.deformable_groups);
        const auto pixel = [&](int64_t y, int64_t x) {
          return value(data, at[0] * xs[0] + channel * xs[1] + y * xs[2] + x * xs[3]);
        };
        for (int64_t u = 0; u < size[2]; ++u) {
          for (int64_t v = 0; v < size[3]; ++v) {
            const auto place = [&](size_t axis, int64_t tap) {
              const int64_t k = 2 * ((group * size[2] + u) * size[3] + v) + static_cast<int64_t>(axis);
              const int64_t base = at[2 + axis] * w.stride[axis] + tap * w.dilation[axis] - w.before[axis];
              return static_cast<T>(base) +
                     static_cast<T>(offset.get(at[0] * os[0] + k * os[1] + at[2] * os[2] + at[3] * os[3]));
            };
            const double term =
                sample<T>(place(0, u), place(1, v), shape[2], shape[3], a.zero_border, pixel) *
                value(weight, at[1] * ws[0] + i * ws[1] + u * ws[2] + v * ws[3]);
            sum += static_cast<decltype(sum)>(term);
          }
        }
      }
      out[0].set(number++, sum);
    });
  });
}

void evaluate(const DeformableAttrs& a, Args in, Results out, Sums sums) {
  in[0].dtype().bits == 64 ? convolve<double>(a, in, out, sums, false)
                           : convolve<float>(a, in, out, sums, false);
}

// The places stay where they are.
void terms(const Attrs& attrs, Args in, Results out) {
  const auto a = read_attrs<DeformableAttrs>(attrs);
  in[0].dtype().bits == 64 ? convolve<double>(a, in, out, Sums::kDouble, true)
                           : convolve<float>(a, in, out, Sums::kDouble, true);
}

// Between which two pixels a place is, along one axis.
struct Neighbours {
  kernel::Expr inside;                      // is the place one of the image?
  std::array<kernel::Expr, 2> index, real;  // of each neighbour, moved into the image; was it there?
  kernel::Expr part;                        // how far the place is from the first one to the second
};
Neighbours neighbours(kernel::Builder& k, kernel::Expr place, kernel::Expr extent, bool zero_border) {
  const kernel::Expr zero = k.constant(place->dtype, 0), far = cast(place->dtype, extent);
  const kernel::Expr least =
      zero_border ? less(k.constant(place->dtype, -1), place) : less_equal(zero, place);
  Neighbours out;
  out.inside = logical_and(least, less(place, far));
  const kernel::Expr sure = select(out.inside, place, zero);  // no NaN, and an index
  const kernel::Expr whole = math(kernel::Math::kFloor, sure), first = cast(kInt64, whole);
  out.part = sure - whole;
  for (const int64_t i : {0, 1}) {
    const kernel::Expr at = first + i;
    const auto n = static_cast<size_t>(i);
    out.index[n] = min(max(at, k.index(0)), extent - 1);
    out.real[n] = zero_border ? equal(at, out.index[n]) : k.constant(kBool, 1);
  }
  return out;
}

// A tensor of all samples: [n, c, u, v, y, x].
kernel::Tensor samples(kernel::Builder& k, const DeformableAttrs& a, const Convolution& c,
                       const Lowering& l) {
  const kernel::Tensor &data = l.in[0], &offset = l.in[1];
  const std::vector<kernel::Expr> shape = c.data.extents(data.shape()), out = c.data.extents(l.shape());
  const std::vector<kernel::Expr> size = c.weight.extents(l.in[2].shape());
  // Places are numbers of the data's dtype. Values and their sums are as wide as the result.
  const DType wide = sum_dtype(data.dtype(), data.dtype()), sum = sum_dtype(data.dtype(), l.dtype());
  return k.compute(
      "samples", sum, {shape[0], shape[1], size[2], size[3], out[2], out[3]}, [&](kernel::Indices i) {
        const kernel::Expr group = floor_div(i[1], floor_div(shape[1], a.deformable_groups));
        const auto around = [&](size_t axis) {
          const kernel::Expr tap =
              ((group * size[2] + i[2]) * size[3] + i[3]) * 2 + static_cast<int64_t>(axis);
          const kernel::Expr moved =
              offset.at(c.data.index(std::vector<kernel::Expr>{i[0], tap, i[4], i[5]}));
          const kernel::Expr base = i[4 + axis] * c.window.stride[axis] +
                                    i[2 + axis] * c.window.dilation[axis] - c.window.before[axis];
          return neighbours(k, cast(wide, base) + cast(wide, moved), shape[2 + axis], a.zero_border);
        };
        const Neighbours rows = around(0), columns = around(1);
        const kernel::Expr zero = k.constant(sum, 0), one = k.constant(wide, 1);
        const auto pixel = [&](size_t y, size_t x) {
          const std::vector<kernel::Expr> at{i[0], i[1], rows.index[y], columns.index[x]};
          return select(logical_and(rows.real[y], columns.real[x]), cast(sum, data.at(c.data.index(at))),
                        zero);
        };
        const auto row = [&](size_t y) {
          return pixel(y, 0) * cast(sum, one - columns.part) + pixel(y, 1) * cast(sum, columns.part);
        };
        const kernel::Expr value = row(0) * cast(sum, one - rows.part) + row(1) * cast(sum, rows.part);
        return select(logical_and(rows.inside, columns.inside), value, zero);
      });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const DeformableAttrs& a, const Lowering& l) {
  const Convolution c = read_convolution(a);
  const kernel::Tensor& w = l.in[2];
  const kernel::Tensor x = samples(k, a, c, l);
  const std::vector<kernel::Expr> size = c.weight.extents(w.shape()), out = c.data.extents(l.shape());
  const DType sum = sum_dtype(l.in[0].dtype(), l.dtype());
  const kernel::Tensor y =
      k.reduce("deformable_conv2d", sum, l.shape(), {size[1], size[2], size[3]}, k.sum(sum),
               [&](kernel::Indices i, kernel::Indices r) {
                 const std::vector<kernel::Expr> at = c.data.coordinates(i);
                 kernel::Expr from = r[0];
                 if (c.groups != 1) from = from + floor_div(at[1], floor_div(out[1], c.groups)) * size[1];
                 return cast(sum, x(at[0], from, r[1], r[2], at[2], at[3])) *
                        cast(sum, w.at(c.weight.index(std::vector<kernel::Expr>{at[1], r[0], r[1], r[2]})));
               });
  if (sum == l.dtype()) return {y};
  return {k.compute("deformable_conv2d_end", l.dtype(), l.shape(),
                    [&](kernel::Indices i) { return cast(l.dtype(), y.at(i)); })};
}

// A sample has some roundings of its own.
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const Convolution c = read_convolution(read_attrs<DeformableAttrs>(attrs));
  const std::vector<Dim> w = c.weight.extents(args[2]->as<TensorType>()->dims);
  const int64_t products = constant_part(std::span(w).subspan(1));
  return products < INT64_MAX - 8 ? products + 8 : products;
}

}  // namespace

const OpDef kDeformableConv2d = define<DeformableAttrs>({
    .name = "nn.deformable_conv2d",
    .doc = "Convolution over images whose windows reach for places that another tensor says.",
    .params = {{"data", "a batch of images"},
               {"offset", "how far each element of each window is moved"},
               {"weight", "the windows' weights"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .refines = {2},
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
