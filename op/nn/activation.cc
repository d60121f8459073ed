// Activations: nn.relu, nn.leaky_relu, nn.prelu.
//
//   nn.relu(x) = max(x, 0)
//   nn.leaky_relu(x) = x where x > 0, alpha * x elsewhere
//   nn.prelu(x, alpha)[.., i, ..] = x where x > 0, alpha[i] * x elsewhere, where i is the index along `axis`
#include "kernel/scalar.h"
#include "op/domain.h"
#include "op/nn/leaky_relu.h"
#include "op/nn/prelu.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::op {
namespace {

// --- relu ----------------------------------------------------------------------------------------

// (Tensor[s, d]) -> Tensor[s, d]   C1: d is numeric.
Type relate_relu(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kNumber);  // C1
  return &r.tensor(0);
}

void evaluate_relu(const NoAttrs&, Args in, Results out) {
  const Tensor& x = in[0];
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.dtype().is_float()) {
      out[0].set(i, kernel::scalar::greatest(x.get(i), 0));
    } else {
      out[0].set_int(i, x.dtype().is_signed_int() && x.get_int(i) < 0 ? 0 : x.get_int(i));
    }
  }
}

// dx = dy where x > 0, 0 elsewhere
std::vector<Expr> differentiate_relu(Builder& b, const NoAttrs&, const Site& c) {
  const Term x(b, c.args[0]), dy(b, c.dy);
  return {where(less(x.number(0), x), dy, dy.number(0))};
}

std::vector<kernel::Tensor> lower_relu(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  return {k.compute("relu", c.dtype(), c.shape(),
                    [&](kernel::Indices i) { return max(c.in[0].at(i), k.constant(c.dtype(), 0)); })};
}

// --- leaky_relu ----------------------------------------------------------------------------------

// (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.
Type relate_leaky(Relation& r, const LeakyReluAttrs&) {
  require(r, 0, Domain::kFloat);  // C1
  return &r.tensor(0);
}

Expr expand_leaky(Builder& b, const LeakyReluAttrs& a, const Site& c) {
  const Term x(b, c.args[0]);
  return where(less(x.number(0), x), x, a.alpha * x);
}

// --- prelu ---------------------------------------------------------------------------------------

// (Tensor[s, d], Tensor[(s[axis]), d]) -> Tensor[s, d]
// C1: d is floating.
// C2: axis is in [-rank, rank).
// C3: alpha has rank 1, the data's dtype and its extent there.
Type relate_prelu(Relation& r, const PReluAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  const TensorType& x = r.tensor(0);
  const Dim extent = x.dims[r.axis(a.axis, x.rank())];  // C2
  r.assign(1, r.tensor_of({extent}, x.dtype));          // C3
  return &x;
}

Expr expand_prelu(Builder& b, const PReluAttrs& a, const Site& c) {
  const size_t rank = c.tensor(0).rank(), behind = rank - 1 - from_front(a.axis, rank);
  const Term x(b, c.args[0]);
  Term slope(b, c.args[1]);
  if (behind > 0) {
    slope = slope.apply(kExpandDims, {slope},
                        {{"axis", int64_t{1}}, {"num_newaxis", static_cast<int64_t>(behind)}});
  }
  return where(less(x.number(0), x), x, slope * x);
}

}  // namespace

const OpDef kRelu = define<NoAttrs>({
    .name = "nn.relu",
    .doc = "The number if it is positive, else 0; NaN stays NaN.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kElementwise,
    .relate = relate_relu,
    .evaluate = evaluate_relu,
    .differentiate = differentiate_relu,
    .lower = lower_relu,
});

const OpDef kLeakyRelu = define<LeakyReluAttrs>({
    .name = "nn.leaky_relu",
    .doc = "The number if it is positive, else a fraction of it.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kElementwise,
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 1},
    .relate = relate_leaky,
    .expand = expand_leaky,
});

const OpDef kPRelu = define<PReluAttrs>({
    .name = "nn.prelu",
    .doc = "The number if it is positive, else a learned fraction of it.",
    .params = {{"data", "the input"}, {"alpha", "the slopes for negative numbers"}},
    .fusion = Fusion::kBroadcast,
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 1},
    .refines = {1},
    .relate = relate_prelu,
    .expand = expand_prelu,
});

}  // namespace relay::op
