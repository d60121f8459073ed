#include "op/nn/convolution.h"

#include <numeric>

#include "base/cat.h"
#include "op/domain.h"
#include "op/nn/fit.h"
#include "op/tensor/common.h"

namespace relay::op {

Convolution read_convolution(const ConvolutionAttrs& a) {
  Convolution c;
  c.data = read_order("data_layout", a.data_layout, cat("NC", a.spatial));
  c.weight = read_order("kernel_layout", a.kernel_layout, cat("OI", a.spatial));
  require_same_layout(a.out_layout, a.data_layout);
  c.window = read_window(a.strides, a.dilation, a.padding, a.spatial.size());
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

std::vector<Dim> relate_weight(Relation& r, const ConvolutionAttrs& a, const Convolution& c,
                               const std::array<std::optional<Dim>, 2>& given, int arg) {
  std::optional<std::vector<Dim>> size;
  if (a.kernel_size) size = read_extents("kernel_size", *a.kernel_size, c.axes());
  if (!r.known(arg)) {
    if (!given[0] || !given[1] || !size) {
      r.fail(arg, "the type of the weight follows only if channels and kernel_size are given",
             "ambiguous-type");
    }
    std::vector<Dim> dims{*given[0], *given[1]};
    dims.insert(dims.end(), size->begin(), size->end());
    r.assign(arg, r.tensor_of(c.weight.shape(dims), r.tensor(0).dtype));
    return dims;
  }
  r.require_rank(arg, 2 + c.axes());
  require_weight_dtype(r, a.out_dtype, arg);
  std::vector<Dim> dims = c.weight.extents(r.tensor(arg).dims);
  const auto agree = [&](size_t p, Dim wanted, std::string_view what) {
    dims[p] = r.same(dims[p], wanted, arg, what, 0);
  };
  if (given[0]) agree(0, *given[0], "extent O of the weight");
  if (given[1]) agree(1, *given[1], "extent I of the weight");
  for (size_t axis = 0; axis < c.axes(); ++axis) {
    if (size) agree(2 + axis, (*size)[axis], cat("extent ", a.spatial[axis], " of the weight"));
  }
  for (size_t axis = 0; axis < c.axes(); ++axis)
    require_some(r, cat("the window's ", name_of_axis(axis, c.axes())), dims[2 + axis], arg);
  return dims;
}

std::vector<std::vector<int64_t>> indices_of(const Shape& shape) {
  std::vector<std::vector<int64_t>> out;
  for_each_index(shape, [&](const std::vector<int64_t>& index) { out.push_back(index); });
  return out;
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
  return {{"strides", w.stride}, {"padding", w.padding()}, {"dilation", w.dilation}, {"groups", groups}};
}

const OpDef& convolution_over(size_t axes) { return axes == 3 ? kConv3d : kConv2d; }

namespace {

const OpDef& transposed_convolution_over(size_t axes) {
  return axes == 3 ? kConv3dTranspose : kConv2dTranspose;
}

bool are_equal(Dim a, Dim b) { return prove_equal(a, b) == kernel::Proof::kProved; }

}  // namespace

Expr data_gradient(Builder& b, Expr dy, Expr weight, const Window& w, int64_t groups,
                   std::span<const Dim> extents) {
  // The padding before each axis is taken off here, and what is too much behind it where that is a
  // number. What is left behind the data is padding, or data that no window reached:
  // cut off, or zero.
  Window in_front = w;
  const List<Dim>&result = tensor_type_of(dy).dims, &size = tensor_type_of(weight).dims;
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const Dim over = (result[2 + axis] - 1) * w.stride[axis] + w.covers(axis, size[2 + axis]) -
                     w.before[axis] - extents[axis];
    in_front.after[axis] = over.is_const() ? std::max<int64_t>(over.value(), 0) : 0;
  }
  std::vector<AttrArg> attrs = convolution_attrs(in_front, groups);
  Expr dx = call(b, transposed_convolution_over(w.axes()), {dy, weight}, attrs);
  for (size_t axis = 0; axis < w.axes(); ++axis) {
    const Dim have = tensor_type_of(dx).dims[2 + axis], wanted = extents[axis];
    if (are_equal(have, wanted)) continue;
    std::vector<std::pair<Dim, Dim>> more(2 + w.axes(), {Dim(0), Dim(0)});
    more[2 + axis].second = clamp_to_zero(wanted - have);
    dx = zero_padded(b, dx, more);
    if (!are_equal(tensor_type_of(dx).dims[2 + axis], wanted))
      dx = sliced(b, dx, static_cast<int64_t>(2 + axis), 0, wanted);
  }
  return dx;
}

Expr weight_gradient(Builder& b, Expr data, Expr dy, const Window& w, int64_t groups,
                     std::span<const Dim> extents) {
  // dweight[o, i, u, v] = sum over n, y, x of data[n, i, y*s + u*d - p, ..] * dy[n, o, y, x]
  //
  // This is a convolution in which the batch is summed over, the channels of a group are the batch,
  // and strides and dilation change places. Its layouts say so: only groups move an element.
  const List<Dim>& shape = tensor_type_of(data).dims;
  const size_t rank = shape.size();
  const Dim batch = shape[0], within = floor_div(shape[1], groups);
  if (groups != 1) {
    // data with other axes in place of the first `count` ones.
    const auto reshape = [&](std::vector<Dim> dims, size_t count) {
      const List<Dim>& all = tensor_type_of(data).dims;
      dims.insert(dims.end(), all.begin() + count, all.end());
      data = call(b, kReshape, {data}, {{"newshape", dims}, {"allowzero", true}});
    };
    reshape({batch, groups, within}, 2);
    std::vector<int64_t> axes(rank + 1);
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[0], axes[1]);
    data = transposed(b, data, axes);
    reshape({groups * batch, within}, 3);
  }
  Window other = w;
  std::swap(other.stride, other.dilation);
  std::vector<AttrArg> attrs = convolution_attrs(other, groups);
  const std::string letters = w.axes() == 3 ? "DHW" : "HW";
  attrs.push_back({"data_layout", "CN" + letters});
  attrs.push_back({"kernel_layout", "IO" + letters});
  Expr dw = call(b, convolution_over(w.axes()), {data, dy}, attrs);
  for (size_t axis = 0; axis < w.axes(); ++axis) {  // elements of the data that no window reached give more
    if (are_equal(tensor_type_of(dw).dims[2 + axis], extents[axis])) continue;
    dw = sliced(b, dw, static_cast<int64_t>(2 + axis), 0, extents[axis]);
  }
  return dw;
}

}  // namespace relay::op
