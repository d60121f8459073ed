// nn.conv2d_backward_weight(grad, data)[o, i, u, v] =
//     sum over n, y, x of grad[n, o, y, x] * data[n, g*I + i, y*s + u*d - p, x*s + v*d - p]
//
//   (Tensor[(n, o, h', w'), d], Tensor[(n, c, h, w), d]) -> Tensor[(o, c / groups, kh, kw), out_dtype]
//   C1: grad and data are floating-point tensors of rank 4 and one dtype.
//   C2: the layouts are orders of NCHW and OIHW; grad has that of data.
//   C3: what nn.conv2d requires of strides, dilation, padding and groups.
//   C4: kernel_size is given. Neither it nor an extent of grad and data is `?`.
//   C5: grad has the batch and extents of the convolution's result, and the channels that
//       `channels` says.
//   C6: out_dtype is floating.
//
// It is the gradient of nn.conv2d with respect to its weight, where grad is that of the result. o
// is in group g = o // (O / groups), which sees I = c / groups channels.
#include "base/cat.h"
#include "op/nn/convolution.h"
#include "op/nn/fit.h"
#include "op/nn/split_axes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const ConvolutionAttrs& a) {
  for (const int arg : {0, 1}) {
    r.require_rank(arg, 4);  // C1
    r.require_float(arg);    // C1
  }
  r.require_same_dtype(1, 0);                         // C1
  const Convolution c = read_convolution(a);          // C2, C3
  const DType result = result_dtype(r, a.out_dtype);  // C6
  r.require(a.kernel_size.has_value(), kAttributes,
            "kernel_size is needed: grad and data do not tell it");  // C4
  const std::vector<Dim> size = read_extents("kernel_size", *a.kernel_size);
  r.require(!any_unknown(size), kAttributes, "kernel_size must not be `?`");  // C4
  for (const int arg : {0, 1})
    r.require(!any_unknown(r.tensor(arg).dims), arg, "the extents must be known");  // C4
  const std::vector<Dim> dy = c.data.extents(r.tensor(0).dims), x = c.data.extents(r.tensor(1).dims);
  const Dim within = whole_groups(r, x[1], c.groups, 1, "input channels");                     // C3
  whole_groups(r, dy[1], c.groups, 0, "output channels");                                      // C3
  r.same(dy[0], x[0], 0, "the batch", 1);                                                      // C5
  const Dim channels = a.channels ? r.same(dy[1], *a.channels, 0, "output channels") : dy[1];  // C5
  for (size_t axis = 0; axis < 2; ++axis) {
    r.same(dy[2 + axis], fitting_windows(r, c.window, axis, x[2 + axis], size[axis]), 0,
           cat("the ", name_of_axis(axis, 2), " of the result"), 1);  // C5
  }
  return r.tensor_of(c.weight.shape(std::vector<Dim>{channels, within, size[0], size[1]}), result);
}

// x, whose extent along the axis has to be this one: if that is not proved, a run compares them. A
// reshape would compare numbers of elements, which are equal for any extent if another one is 0.
Expr with_compared_extent(Builder& b, Expr x, size_t axis, Dim extent) {
  const TensorType& type = tensor_type_of(x);
  if (prove_equal(type.dims[axis], extent) == kernel::Proof::kProved) return x;
  std::vector<Dim> dims(type.dims.begin(), type.dims.end());
  dims[axis] = extent;
  const Type compared = b.context().tensor_type(dims, type.dtype);
  const Var* matched = b.var("matched", compared);
  return b.call(b.fn({&matched, 1}, matched), {x}, {}, compared);  // as `match_shape` is written
}

Expr expand(Builder& b, const ConvolutionAttrs& a, const Site& s) {
  const Convolution c = read_convolution(a);
  const DType d = s.tensor(0).dtype;
  const Expr data = canonical(b, s.args[1], c.data, d);
  const std::vector<Dim> size = read_extents("kernel_size", *a.kernel_size);
  Expr dy = canonical(b, s.args[0], c.data, d);
  if (a.channels) dy = with_compared_extent(b, dy, 1, *a.channels);
  for (size_t axis = 0; axis < 2; ++axis) {
    const Dim extent = tensor_type_of(data).dims[2 + axis];
    dy = with_compared_extent(b, dy, 2 + axis, c.window.count(axis, extent, size[axis]));
  }
  const Expr dw = weight_gradient(b, data, dy, c.window, c.groups, size);
  return from_canonical(b, dw, c.weight, a.out_dtype.value_or(d));
}

// The number of products in each sum: an element of the result for each image.
int64_t length(std::span<const Type> args, const Attrs& attrs) {
  const Layout layout = read_order("data_layout", read_attrs<ConvolutionAttrs>(attrs).data_layout, "NCHW");
  const std::vector<Dim> dy = layout.extents(args[0]->as<TensorType>()->dims);
  return constant_part(std::vector<Dim>{dy[0], dy[2], dy[3]});
}

}  // namespace

const OpDef kConv2dBackwardWeight = define<ConvolutionAttrs>({
    .name = "nn.conv2d_backward_weight",
    .doc = "The gradient of a convolution over images with respect to its weight.",
    .params = {{"grad", "the gradient of the convolution's result"}, {"data", "what was convolved"}},
    .fusion = Fusion::kOutputFusable,
    .tolerance = {.kind = Tolerance::Kind::kReduction, .length = length},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
