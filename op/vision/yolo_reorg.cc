// vision.yolo_reorg(data)[n, (u * stride + v) * m + k, y, x] = data, read as
//     [n, m, h * stride, w * stride], at [n, k, y * stride + u, x * stride + v],
//     where m = c / stride^2; the result is then read as
//     [n, c * stride^2, h / stride, w / stride]
//
//   (Tensor[(n, c, h, w), d]) -> Tensor[(n, c * stride^2, h / stride, w / stride), d]
//   C1: data has rank 4.
//   C2: stride is positive and not above 65536.
//   C3: channels are a multiple of the square of the stride, height and width are multiples of it.
//
// This is the layer `reorg` of Darknet, to the letter: it does not gather squares of pixels.
#include <array>

#include "base/cat.h"
#include "op/define.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct YoloReorgAttrs {
  int64_t stride = 1;
  static constexpr auto kFields = fields(field("stride", &YoloReorgAttrs::stride, "of the squares"));
};

Type relate(Relation& r, const YoloReorgAttrs& a) {
  r.require_rank(0, 4);  // C1
  r.require(a.stride > 0 && a.stride <= 65536, kAttributes,
            cat("stride must be in [1, 65536], not ", a.stride));  // C2
  const TensorType& x = r.tensor(0);
  const Dim stride(a.stride), square(a.stride * a.stride);
  const Dim groups = floor_div(x.dims[1], square), rows = floor_div(x.dims[2], stride),
            columns = floor_div(x.dims[3], stride);
  r.same(x.dims[1], groups * square, 0, "channels, a multiple of the squared stride");  // C3
  r.same(x.dims[2], rows * stride, 0, "height, a multiple of the stride");              // C3
  r.same(x.dims[3], columns * stride, 0, "width, a multiple of the stride");            // C3
  return r.tensor_of({x.dims[0], x.dims[1] * square, rows, columns}, x.dtype);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b; }  // of what is not negative
using kernel::floor_div;
using relay::floor_div;

// Where element (k, j, i) of an image comes from: an element of [m, h * stride, w * stride].
template <class T>
std::array<T, 3> source(T k, T j, T i, T groups, T stride) {
  const T square = floor_div(k, groups), offset_y = floor_div(square, stride);
  return {k - square * groups, j * stride + offset_y, i * stride + (square - offset_y * stride)};
}

void evaluate(const YoloReorgAttrs& a, Args in, Results out) {
  const Shape& shape = in[0].shape();
  const int64_t groups = shape[1] / (a.stride * a.stride);
  const Shape wide{shape[0], groups, shape[2] * a.stride, shape[3] * a.stride};
  int64_t number = 0;
  for_each_index(shape, [&](const std::vector<int64_t>& i) {
    const auto [k, y, x] = source<int64_t>(i[1], i[2], i[3], groups, a.stride);
    const int64_t from[] = {i[0], k, y, x};
    copy_element(in[0], offset_of(wide, from), out[0], number++);
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const YoloReorgAttrs& a, const Lowering& c) {
  const TensorType &x = *c.arg_types[0], &y = *c.out_types[0];
  const Dim stride(a.stride), groups = floor_div(x.dims[1], stride * stride);
  const std::vector<Dim> wide{x.dims[0], groups, x.dims[2] * stride, x.dims[3] * stride};
  return {k.compute("reorg", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> at = reindex(c.pool, x.dims, y.dims, i);
    const auto [channel, row, column] =
        source<kernel::Expr>(at[1], at[2], at[3], max(groups.expr(c.pool), k.index(1)), k.index(a.stride));
    const std::vector<kernel::Expr> from{at[0], channel, row, column};
    return c.in[0].at(reindex(c.pool, x.dims, wide, from));
  })};
}

}  // namespace

const OpDef kYoloReorg = define<YoloReorgAttrs>({
    .name = "vision.yolo_reorg",
    .doc = "Pixels moved to channels, as Darknet does it.",
    .params = {{"data", "a batch of images"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
