#include "op/nn/convolution.h"

#include "base/cat.h"
#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {

Convolution read_convolution(const ConvolutionAttrs& a) {
  Convolution c;
  c.data = read_order("data_layout", a.data_layout, "NCHW");
  c.weight = read_order("kernel_layout", a.kernel_layout, "OIHW");
  require_same_layout(a.out_layout, a.data_layout);
  c.window = read_window(a.strides, a.dilation, a.padding);
  if (a.groups < 1) throw RelationError{kAttributes, cat("groups must be positive, not ", a.groups)};
  c.groups = a.groups;
  return c;
}

Dim per_group(Dim d, int64_t groups, int arg, std::string_view what) {
  if (d.is_const() && d.value() % groups != 0) {
    throw RelationError{arg, cat(groups, " groups do not divide the ", relay::show(d), " ", what)};
  }
  return groups == 1 ? d : floor_div(d, groups);
}

DType result_dtype(Relation& r, const MaybeDType& wanted) {
  const DType data = r.tensor(0).dtype, result = wanted.value_or(data);
  r.require(!result.is_bool() && result.is_float() == data.is_float(), kAttributes,
            cat("out_dtype must be ", data.is_float() ? "floating-point" : "an integer dtype",
                " as the data is, not ", result.name()));
  return result;
}

DType sum_dtype(DType data, DType result) {
  if (!data.is_float()) return result;
  const auto wide = [](DType d) { return d.bits < 32 ? kFloat32 : d; };
  return wide(data).bits > wide(result).bits ? wide(data) : wide(result);
}

void require_weight_dtype(Relation& r, const MaybeDType& wanted, int arg) {
  const DType data = r.tensor(0).dtype, weight = r.tensor(arg).dtype;
  // Integers may differ, as the uint8 data and int8 weights of quantised networks, if the
  // result's dtype is named.
  if (wanted.given && data.is_int() && weight.is_int()) return;
  r.require_same_dtype(arg, 0);
}

std::array<Dim, 4> relate_weight(Relation& r, const ConvolutionAttrs& a, const Convolution& c,
                                 const std::array<std::optional<Dim>, 2>& given) {
  std::optional<std::array<Dim, 2>> size;
  if (a.kernel_size) size = read_extents("kernel_size", *a.kernel_size);
  if (!r.known(1)) {
    if (!given[0] || !given[1] || !size) {
      r.fail(1, "the type of the weight follows only if channels and kernel_size are given",
             "ambiguous-type");
    }
    const std::array<Dim, 4> dims{*given[0], *given[1], (*size)[0], (*size)[1]};
    r.assign(1, r.tensor_of(c.weight.shape(dims), r.tensor(0).dtype));
    return dims;
  }
  r.require_rank(1, 4);
  require_weight_dtype(r, a.out_dtype, 1);
  std::array<Dim, 4> dims = parts(c.weight, r.tensor(1).dims);
  const auto agree = [&](size_t p, Dim wanted, std::string_view what) {
    dims[p] = r.same(dims[p], wanted, 1, what, 0);
  };
  if (given[0]) agree(0, *given[0], "extent O of the weight");
  if (given[1]) agree(1, *given[1], "extent I of the weight");
  if (size) {
    agree(2, (*size)[0], "extent H of the weight");
    agree(3, (*size)[1], "extent W of the weight");
  }
  require_extent("the window's height", dims[2], 1);
  require_extent("the window's width", dims[3], 1);
  return dims;
}

Expr canonical(Builder& b, Expr x, const Layout& layout, DType dtype) {
  if (tensor_type_of(x).dtype != dtype) x = call(b, kCast, {x}, {{"dtype", dtype}});
  return transposed(b, x, axes_to_plain(layout));
}

Expr from_canonical(Builder& b, Expr x, const Layout& layout, DType dtype) {
  x = transposed(b, x, axes_from_plain(layout));
  return tensor_type_of(x).dtype == dtype ? x : call(b, kCast, {x}, {{"dtype", dtype}});
}

std::vector<AttrArg> convolution_attrs(const Window& w, int64_t groups) {
  return {
      {"strides", w.strides()}, {"padding", w.padding()}, {"dilation", w.dilations()}, {"groups", groups}};
}

Expr data_gradient(Builder& b, Expr dy, Expr weight, const Window& w, int64_t groups, Dim height, Dim width) {
  // Only the padding at the top and left is taken off here. What is left below and to the right is
  // padding, or data that no window reached: cut off, or zero.
  Window top_left = w;
  top_left.after = {0, 0};
  std::vector<AttrArg> attrs = convolution_attrs(top_left, groups);
  Expr dx = call(b, kConv2dTranspose, {dy, weight}, attrs);
  const std::array<Dim, 2> wanted{height, width};
  for (size_t axis = 0; axis < 2; ++axis) {
    const Dim have = tensor_type_of(dx).dims[2 + axis];
    if (prove_equal(have, wanted[axis]) == kernel::Proof::kProved) continue;
    std::vector<std::pair<Dim, Dim>> more(4, {Dim(0), Dim(0)});
    more[2 + axis].second = clamp_to_zero(wanted[axis] - have);
    dx = zero_padded(b, dx, more);
    const Dim now = tensor_type_of(dx).dims[2 + axis];
    if (prove_equal(now, wanted[axis]) != kernel::Proof::kProved) {
      dx = sliced(b, dx, static_cast<int64_t>(2 + axis), 0, wanted[axis]);
    }
  }
  return dx;
}

Expr weight_gradient(Builder& b, Expr data, Expr dy, const Window& w, int64_t groups, Dim height, Dim width) {
  // dweight[o, i, u, v] = sum over n, y, x of data[n, i, y*s + u*d - p, ..] * dy[n, o, y, x]
  //
  // This is a convolution in which the batch is summed over, the channels of a group are the batch,
  // and strides and dilation change places.
  const List<Dim>& shape = tensor_type_of(data).dims;
  const Dim batch = shape[0], within = floor_div(shape[1], groups);
  const auto reshaped = [&](Expr x, const std::vector<Dim>& dims) {
    return call(b, kReshape, {x}, {{"newshape", dims}, {"allowzero", true}});
  };
  if (groups == 1) {
    data = transposed(b, data, {1, 0, 2, 3});
  } else {
    data = reshaped(data, {batch, groups, within, shape[2], shape[3]});
    data = reshaped(transposed(b, data, {2, 1, 0, 3, 4}), {within, batch * groups, shape[2], shape[3]});
  }
  dy = transposed(b, dy, {1, 0, 2, 3});
  Window exchanged = w;
  std::swap(exchanged.stride, exchanged.dilation);
  Expr dw = call(b, kConv2d, {data, dy}, convolution_attrs(exchanged, groups));
  const std::array<Dim, 2> wanted{height, width};
  for (size_t axis = 0; axis < 2; ++axis) {  // elements of the data that no window reached give more
    if (prove_equal(tensor_type_of(dw).dims[2 + axis], wanted[axis]) == kernel::Proof::kProved) continue;
    dw = sliced(b, dw, static_cast<int64_t>(2 + axis), 0, wanted[axis]);
  }
  return transposed(b, dw, {1, 0, 2, 3});
}

}  // namespace relay::op
