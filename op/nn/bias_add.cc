// nn.bias_add(data, bias)[.., i, ..] = data[.., i, ..] + bias[i], where i is the index along `axis`
//
//   (Tensor[s, d], Tensor[(s[axis]), d]) -> Tensor[s, d]
//   C1: d is numeric.
//   C2: axis is in [-rank, rank).
//   C3: bias has rank 1, the data's dtype and its extent there.
#include "op/nn/bias_add.h"

#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const BiasAddAttrs& a) {
  require(r, 0, Domain::kNumber);  // C1
  const TensorType& x = r.tensor(0);
  const Dim extent = x.dims[r.axis(a.axis, x.rank())];  // C2
  r.assign(1, r.tensor_of({extent}, x.dtype));          // C3
  return &x;
}

Expr expand(Builder& b, const BiasAddAttrs& a, const Site& c) {
  const size_t rank = c.tensor(0).rank(), behind = rank - 1 - from_front(a.axis, rank);
  Expr bias = c.args[1];
  if (behind > 0) {
    bias =
        call(b, kExpandDims, {bias}, {{"axis", int64_t{1}}, {"num_newaxis", static_cast<int64_t>(behind)}});
  }
  return call(b, kAdd, {c.args[0], bias});
}

}  // namespace

const OpDef kBiasAdd = define<BiasAddAttrs>({
    .name = "nn.bias_add",
    .doc = "Add a vector along one axis.",
    .params = {{"data", "the input"}, {"bias", "what is added, one number for each index along the axis"}},
    .fusion = Fusion::kBroadcast,
    .refines = {1},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
