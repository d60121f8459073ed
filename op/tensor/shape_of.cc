// Shapes as tensors: shape_of, ndarray_size.
#include "base/cat.h"
#include "op/ops.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct ShapeOfAttrs {
  MaybeDType dtype = {};
  static constexpr auto kFields = fields(field("dtype", &ShapeOfAttrs::dtype, "of the result; None: int32"));
};

// shape_of(x)[i] = the extent of axis i of x
//   (Tensor[s, d]) -> Tensor[(rank), dtype]   C1: the dtype is an integer's.
//
// ndarray_size(x) = the product of all extents of x
//   (Tensor[s, d]) -> Tensor[(), dtype]   C1: the dtype is an integer's.
DType shape_dtype(Relation& r, const ShapeOfAttrs& a) {
  const DType dtype = a.dtype.value_or(kInt32);
  r.require(dtype.is_int(), kAttributes, cat("dtype must be an integer's, not ", dtype.name()));  // C1
  return dtype;
}

Type relate_shape_of(Relation& r, const ShapeOfAttrs& a) {
  return r.tensor_of({Dim(static_cast<int64_t>(r.tensor(0).rank()))}, shape_dtype(r, a));
}

void evaluate_shape_of(const ShapeOfAttrs&, Args in, Results out) {
  for (size_t d = 0; d < in[0].rank(); ++d) out[0].set_int(static_cast<int64_t>(d), in[0].shape()[d]);
}

template <class A>
std::vector<Expr> differentiate_shape(Builder&, const A&, const Site&) {
  return {nullptr};
}

std::vector<kernel::Tensor> lower_shape_of(kernel::Builder& k, const ShapeOfAttrs&, const Lowering& c) {
  return {k.compute("shape", c.dtype(), c.shape(), [&](kernel::Indices i) {
    kernel::Expr value = k.index(0);
    for (size_t d = c.in[0].rank(); d-- > 0;) {
      value = kernel::select(kernel::equal(i[0], k.index(static_cast<int64_t>(d))), c.in[0].dim(d), value);
    }
    return kernel::cast(c.dtype(), value);
  })};
}

Type relate_ndarray_size(Relation& r, const ShapeOfAttrs& a) {
  r.tensor(0);
  return r.tensor_of({}, shape_dtype(r, a));
}

void evaluate_ndarray_size(const ShapeOfAttrs&, Args in, Results out) { out[0].set_int(0, in[0].size()); }

std::vector<kernel::Tensor> lower_ndarray_size(kernel::Builder& k, const ShapeOfAttrs&, const Lowering& c) {
  // Not a product of dims: one that does not fit is still 0 where an extent turns out to be 0, as
  // its 64 bits are.
  kernel::Expr size = k.index(1);
  for (size_t d = 0; d < c.in[0].rank(); ++d) size = size * c.in[0].dim(d);
  return {k.compute("size", c.dtype(), {}, [&](kernel::Indices) { return kernel::cast(c.dtype(), size); })};
}

}  // namespace

const OpDef kShapeOf = define<ShapeOfAttrs>({
    .name = "shape_of",
    .doc = "The shape, as a tensor.",
    .params = {{"data", "only its shape matters"}},
    .fusion = Fusion::kInjective,
    .relate = relate_shape_of,
    .evaluate = evaluate_shape_of,
    .differentiate = differentiate_shape,
    .lower = lower_shape_of,
});

const OpDef kNdarraySize = define<ShapeOfAttrs>({
    .name = "ndarray_size",
    .doc = "The number of elements.",
    .params = {{"data", "only its shape matters"}},
    .fusion = Fusion::kInjective,
    .relate = relate_ndarray_size,
    .evaluate = evaluate_ndarray_size,
    .differentiate = differentiate_shape,
    .lower = lower_ndarray_size,
});

}  // namespace relay::op
