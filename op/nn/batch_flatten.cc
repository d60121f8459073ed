// nn.batch_flatten(x)[n, i] = x[n, ..], where i counts the elements behind the first axis in row-major order
//
//   (Tensor[(n, ..), d]) -> Tensor[(n, the product of the others), d]   C1: the rank is at least 1.
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const NoAttrs&) {
  const TensorType& x = r.tensor(0);
  r.require_no_scalar(0);  // C1
  const std::vector<Dim> dims = dims_of(x);
  return r.tensor_of({dims[0], product(std::span(dims).subspan(1))}, x.dtype);
}

Expr expand(Builder& b, const NoAttrs&, const Site& c) {
  if (c.tensor(0).rank() == 1) return call(b, kExpandDims, {c.args[0]}, {{"axis", int64_t{1}}});
  return call(b, kReshape, {c.args[0]}, {{"newshape", std::vector<int64_t>{0, -1}}});
}

}  // namespace

const OpDef kBatchFlatten = define<NoAttrs>({
    .name = "nn.batch_flatten",
    .doc = "Make one axis of all but the first.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
