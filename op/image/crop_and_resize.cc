// image.crop_and_resize(data, boxes, box_indices)[r, c, y, x] = data[box_indices[r], c] at the place
//     that (y, x) has in the box r
//
//   (Tensor[(n, c, h, w), d], Tensor[(r, 4), e], Tensor[(r), f]) -> Tensor[(r, c, h', w'), d]
//   C1: data has rank 4; data and boxes are floating-point, box_indices integers.
//   C2: the layout is an order of NCHW.   C3: crop_size is one or two positive extents.
//   C4: boxes has rank 2 and four columns, and as many rows as box_indices, of rank
//       1, has elements.
//   C5: method is bilinear or nearest_neighbor.   C6: the image has at least one pixel.
//   C7: out_dtype is the data's.
//
// A box is (y1, x1, y2, x2), where 0 is the first pixel and 1 the last one. The places in it begin
// and end at these; the only place of an axis is the middle. nearest_neighbor rounds halves up. A
// place outside of the image gives extrapolation_value, as one that is NaN does. An index of a box
// that is none of a batch traps.
#include <array>
#include <cmath>
#include <string>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "op/domain.h"
#include "op/nn/window.h"
#include "op/real.h"
#include "op/reduce/reduction.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

constexpr std::string_view kNoPixels = "an image without pixels cannot be resized";

struct CropAndResizeAttrs {
  std::vector<Dim> crop_size = {};
  std::string layout = "NCHW";
  std::string method = "bilinear";
  double extrapolation_value = 0;
  MaybeDType out_dtype = {};
  static constexpr auto kFields =
      fields(field("crop_size", &CropAndResizeAttrs::crop_size, "height and width of the result").required(),
             field("layout", &CropAndResizeAttrs::layout, "an order of the letters NCHW"),
             field("method", &CropAndResizeAttrs::method, "bilinear or nearest_neighbor"),
             field("extrapolation_value", &CropAndResizeAttrs::extrapolation_value,
                   "the result where the place is outside of the image"),
             field("out_dtype", &CropAndResizeAttrs::out_dtype, "must be the data's"));
};

Type relate(Relation& r, const CropAndResizeAttrs& a) {
  r.require_rank(0, 4);             // C1
  require(r, 0, Domain::kFloat);    // C1
  require(r, 1, Domain::kFloat);    // C1
  require(r, 2, Domain::kInteger);  // C1
  r.require_rank(1, 2);             // C4
  r.require_rank(2, 1);             // C4
  const TensorType& x = r.tensor(0);
  const Layout layout = read_order("layout", a.layout, "NCHW");                                 // C2
  const std::vector<Dim> size = read_extents("crop_size", a.crop_size);                         // C3
  r.same(r.tensor(1).dims[1], Dim(4), 1, "number of columns");                                  // C4
  const Dim boxes = r.same(r.tensor(2).dims[0], r.tensor(1).dims[0], 2, "number of boxes", 1);  // C4
  r.require(a.method == "bilinear" || a.method == "nearest_neighbor", kAttributes,
            cat("method must be bilinear or nearest_neighbor, not `", a.method, "`"));  // C5
  r.require(a.out_dtype.value_or(x.dtype) == x.dtype, kAttributes,
            "out_dtype must be the data's dtype");  // C7
  std::array<Dim, 4> dims = parts(layout, x.dims);
  for (size_t axis = 0; axis < 2; ++axis) {
    r.require(dims[2 + axis] != Dim(0), 0, kNoPixels);  // C6
    dims[2 + axis] = size[axis];
  }
  dims[0] = boxes;
  return r.tensor_of(layout.shape(dims), x.dtype);
}

// Where index i of an axis of `to` pixels lies in one of `from`, between the sides of the box.
template <class T>
T place(T low, T high, Whole<T> i, Whole<T> from, Whole<T> to) {
  const T last = real_of(low, from - 1), one = number(low, 1), steps = real_of(low, to) - one;
  const T along = low * last + real_of(low, i) * ((high - low) * last / max(steps, one));
  return select(equal(steps, number(low, 0)), (low + high) * number(low, 0.5) * last, along);
}

// The two pixels around a place, or the nearest one; the weight of the second one; and whether the
// place is in the image.
template <class T>
struct Line {
  Whole<T> first, second;
  T weight;
  Truth<T> inside;
};

template <class T>
Line<T> line(const CropAndResizeAttrs& a, T at, T like, Whole<T> from) {
  const T zero = number(at, 0);
  const auto pixel = [&](T p) { return between(whole_of(p), whole(from, 0), from - 1); };
  const T base = a.method == "bilinear" ? floor(at) : floor(at + number(at, 0.5));
  const T next = a.method == "bilinear" ? ceil(at) : base;
  return {pixel(base), pixel(next), in_dtype_of(like, a.method == "bilinear" ? at - base : zero),
          both(less_equal(zero, at), less_equal(at, real_of(at, from - 1)))};
}

enum class Weights { kExact, kLargest };

void crop(const CropAndResizeAttrs& a, Args in, Results out, Weights weights) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const Tensor &x = in[0], &boxes = in[1], &indices = in[2];
  const std::array<int64_t, 4> from = parts(layout, x.shape()), to = parts(layout, out[0].shape());
  const std::vector<int64_t> step = strides_of(x.shape(), layout);
  const DType computed = accumulator(boxes.dtype());
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& index) {
    const std::array<int64_t, 4> at = parts(layout, index);
    const int64_t image = index_of(indices, at[0]);
    if (image < 0 || image >= from[0]) throw Trap(kBoxOutOfRange);
    const auto side = [&](int64_t n) { return Real{boxes.get(at[0] * 4 + n), computed}; };
    std::array<Line<Real>, 2> lines;
    for (size_t axis = 0; axis < 2; ++axis) {
      const auto n = static_cast<int64_t>(axis);
      lines[axis] = line(a, place(side(n), side(2 + n), at[2 + axis], from[2 + axis], to[2 + axis]),
                         Real{0, kFloat64}, from[2 + axis]);
    }
    const auto pixel = [&](int64_t row, int64_t column) {
      const double v = x.get(image * step[0] + at[1] * step[1] + row * step[2] + column * step[3]);
      return weights == Weights::kExact ? v : std::fabs(v);
    };
    const auto& [rows, columns] = lines;
    if (!rows.inside || !columns.inside)
      return out[0].set(
          number++, weights == Weights::kExact ? a.extrapolation_value : std::fabs(a.extrapolation_value));
    const double a00 = pixel(rows.first, columns.first), a01 = pixel(rows.first, columns.second),
                 a10 = pixel(rows.second, columns.first), a11 = pixel(rows.second, columns.second);
    const double v = rows.weight.value, u = columns.weight.value;
    out[0].set(number++, weights == Weights::kLargest
                             ? a00 + a01 + a10 + a11
                             : (1 - v) * ((1 - u) * a00 + u * a01) + v * ((1 - u) * a10 + u * a11));
  });
}

void evaluate(const CropAndResizeAttrs& a, Args in, Results out) { crop(a, in, out, Weights::kExact); }

// A place that is rounded differs by as many roundings as the axis has pixels, and so do the
// weights of all pixels around it, which may be 0.
void terms(const Attrs& attrs, std::span<const Tensor> in, std::span<Tensor> out) {
  crop(read_attrs<CropAndResizeAttrs>(attrs), in, out, Weights::kLargest);
}

int64_t length(std::span<const Type> args, const Attrs& attrs) {
  if (read_attrs<CropAndResizeAttrs>(attrs).method != "bilinear") return 0;
  int64_t out = 16;
  for (const Dim d : args[0]->as<TensorType>()->dims) out += d.is_const() ? 4 * d.value() : 0;
  return out;
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const CropAndResizeAttrs& a, const Lowering& c) {
  const Layout layout = read_order("layout", a.layout, "NCHW");
  const kernel::Tensor &x = c.in[0], &boxes = c.in[1], &indices = c.in[2];
  const std::array<kernel::Expr, 4> from = parts(layout, x.shape()), to = parts(layout, c.shape());
  const DType wide = accumulator(c.dtype()), computed = accumulator(boxes.dtype());
  return {k.compute("crop_and_resize", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::array<kernel::Expr, 4> at = parts(layout, i);
    const std::vector<kernel::Expr> box{at[0]};
    const auto side = [&](int64_t n) { return cast(computed, boxes(box[0], k.index(n))); };
    std::vector<Line<kernel::Expr>> lines;
    for (size_t axis = 0; axis < 2; ++axis) {
      k.require_shape(less(k.index(0), from[2 + axis]), kNoPixels);
      const auto n = static_cast<int64_t>(axis);
      lines.push_back(line(a, place(side(n), side(2 + n), at[2 + axis], from[2 + axis], to[2 + axis]),
                           k.constant(wide, 0), from[2 + axis]));
    }
    at[0] = index_at(indices, box);
    k.require(is_inside(at[0], from[0]), kBoxOutOfRange);
    const auto pixel = [&](kernel::Expr row, kernel::Expr column) {
      at[2] = row, at[3] = column;
      return cast(wide, x.at(layout.index(at)));
    };
    const Line<kernel::Expr>&rows = lines[0], &columns = lines[1];
    const kernel::Expr one = k.constant(wide, 1);
    const auto row = [&](kernel::Expr y) {
      return (one - columns.weight) * pixel(y, columns.first) + columns.weight * pixel(y, columns.second);
    };
    const kernel::Expr value = a.method == "bilinear"
                                   ? (one - rows.weight) * row(rows.first) + rows.weight * row(rows.second)
                                   : pixel(rows.first, columns.first);
    return select(both(rows.inside, columns.inside), cast(c.dtype(), value),
                  k.constant(c.dtype(), a.extrapolation_value));
  })};
}

}  // namespace

const OpDef kCropAndResize = define<CropAndResizeAttrs>({
    .name = "image.crop_and_resize",
    .doc = "Boxes of images, each brought to one size.",
    .params = {{"data", "a batch of images"},
               {"boxes", "y1, x1, y2 and x2 of each box, as shares of the image"},
               {"box_indices", "the image of each box"}},
    .effects = Effects::kTraps,
    .fusion = Fusion::kInjective,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length, .terms = terms},
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
