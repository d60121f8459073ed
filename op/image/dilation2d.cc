// image.dilation2d(data, weight)[n, c, y, x] = max over u, v of
//     data[n, c, y * stride + u * dilation - pad, ...] + weight[c, u, v], where the indices are in the image
//
//   (Tensor[(n, c, h, w), d], Tensor[(c, kh, kw), d]) -> Tensor[(n, c, h', w'), d]
//   C1: data has rank 4, weight rank 3, and both one dtype, a number's.
//   C2: data_layout is an order of NCHW, and kernel_layout one of IHW.
//   C3: strides and dilations are positive, padding is 1, 2 or 4 numbers that are not negative.
//   C4: weight has the channels of data.   C5: the window fits into the padded data.
//   C6: out_dtype is the data's.
//
// The padding does not count. Where a window has nothing but padding, the result is the least
// number of the dtype.
#include <array>
#include <optional>
#include <string>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/fit.h"
#include "op/nn/window.h"
#include "op/real.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"
#include "runtime/extremes.h"

namespace relay::op {
namespace {

struct Dilation2dAttrs {
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0}, dilations = {1, 1};
  std::string data_layout = "NCHW", kernel_layout = "IHW";
  MaybeDType out_dtype = {};
  static constexpr auto kFields =
      fields(field("strides", &Dilation2dAttrs::strides,
                   "how far the window moves: one number, or height and width"),
             field("padding", &Dilation2dAttrs::padding,
                   "around the image: one number, (height, width) or (top, left, bottom, right)"),
             field("dilations", &Dilation2dAttrs::dilations,
                   "the distance between the elements that a window covers"),
             field("data_layout", &Dilation2dAttrs::data_layout, "an order of the letters NCHW"),
             field("kernel_layout", &Dilation2dAttrs::kernel_layout, "an order of the letters IHW"),
             field("out_dtype", &Dilation2dAttrs::out_dtype, "must be the data's"));
};

// The attributes, understood.
struct Dilation {
  Layout data, weight;
  Window window;
};

Dilation read_dilation(const Dilation2dAttrs& a) {
  return {read_order("data_layout", a.data_layout, "NCHW"),
          read_order("kernel_layout", a.kernel_layout, "IHW"),
          read_window(a.strides, a.dilations, a.padding)};
}

Type relate(Relation& r, const Dilation2dAttrs& a) {
  r.require_rank(0, 4);                 // C1
  r.require_rank(1, 3);                 // C1
  require(r, 0, Domain::kNumber);       // C1
  r.require_same_dtype(1, 0);           // C1
  const Dilation d = read_dilation(a);  // C2, C3
  const TensorType& x = r.tensor(0);
  const std::vector<Dim> weight = d.weight.extents(r.tensor(1).dims);
  std::array<Dim, 4> dims = parts(d.data, x.dims);
  dims[1] = r.same(dims[1], weight[0], 0, "number of channels", 1);  // C4
  for (size_t axis = 0; axis < 2; ++axis) {
    require_some(r, "the window", weight[1 + axis], 1);                                     // C5
    dims[2 + axis] = fitting_windows(r, d.window, axis, dims[2 + axis], weight[1 + axis]);  // C5
  }
  r.require(a.out_dtype.value_or(x.dtype) == x.dtype, kAttributes,
            "out_dtype must be the data's dtype");  // C6
  return r.tensor_of(d.data.shape(dims), x.dtype);
}

// The place in the image of element k of a window.
template <class T>
T place(const Window& w, size_t axis, T result, T k) {
  return result * w.stride[axis] + k * w.dilation[axis] - w.before[axis];
}

void evaluate(const Dilation2dAttrs& a, Args in, Results out) {
  const Dilation d = read_dilation(a);
  const Tensor &x = in[0], &weight = in[1];
  const std::array<int64_t, 4> from = parts(d.data, x.shape());
  const std::vector<int64_t> window = d.weight.extents(weight.shape());
  const DType dtype = x.dtype();
  int64_t number = 0;
  for_each_index(out[0].shape(), [&](const std::vector<int64_t>& index) {
    const std::array<int64_t, 4> at = parts(d.data, index);
    double real = least_real(dtype);
    std::optional<int64_t> integer;
    for_each_index({window[1], window[2]}, [&](const std::vector<int64_t>& k) {
      const int64_t y = place(d.window, 0, at[2], k[0]), z = place(d.window, 1, at[3], k[1]);
      if (!is_inside(y, from[2]) || !is_inside(z, from[3])) return;
      const std::vector<int64_t> pixel{at[0], at[1], y, z}, element{at[1], k[0], k[1]};
      const int64_t i = offset_of(x.shape(), d.data.index(pixel)),
                    j = offset_of(weight.shape(), d.weight.index(element));
      if (dtype.is_float()) {
        real = kernel::scalar::greatest(real, kernel::scalar::round_to(dtype, x.get(i) + weight.get(j)));
        return;
      }
      const int64_t sum =
          kernel::scalar::binary(kernel::ExprKind::kAdd, dtype, x.get_int(i), weight.get_int(j));
      integer = integer ? kernel::scalar::binary(kernel::ExprKind::kMax, dtype, *integer, sum) : sum;
    });
    if (dtype.is_float()) return out[0].set(number++, real);
    const int64_t least = dtype.is_signed_int() ? -(int64_t{1} << (dtype.bits - 2)) * 2 : 0;
    out[0].set_int(number++, integer.value_or(least));
  });
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const Dilation2dAttrs& a, const Lowering& c) {
  const Dilation d = read_dilation(a);
  const kernel::Tensor &x = c.in[0], &weight = c.in[1];
  const std::array<kernel::Expr, 4> from = parts(d.data, x.shape());
  const std::vector<kernel::Expr> window = d.weight.extents(weight.shape());
  return {k.reduce("dilation2d", c.dtype(), c.shape(), {window[1], window[2]}, k.maximum(c.dtype()),
                   [&](kernel::Indices i, kernel::Indices r) {
                     std::array<kernel::Expr, 4> at = parts(d.data, i);
                     const std::vector<kernel::Expr> element{at[1], r[0], r[1]};
                     kernel::Expr inside = k.constant(kBool, 1);
                     for (size_t axis = 0; axis < 2; ++axis) {
                       at[2 + axis] = place(d.window, axis, at[2 + axis], r[axis]);
                       inside = both(inside, is_inside(at[2 + axis], from[2 + axis]));
                     }
                     const kernel::Expr sum = x.at(d.data.index(at)) + weight.at(d.weight.index(element));
                     return select(inside, sum, k.lowest(c.dtype()));
                   })};
}

}  // namespace

const OpDef kDilation2d = define<Dilation2dAttrs>({
    .name = "image.dilation2d",
    .doc = "The largest sum of a window of an image and the weights that lie on it.",
    .params = {{"data", "a batch of images"}, {"weight", "a window for each channel"}},
    .fusion = Fusion::kReduction,
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
