// @PATH@
//
//   @NAME@(x)[i] = x[i]
#include <vector>

#include "op/define.h"
#include "op/ops.h"

namespace relay::op {
namespace {

// (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.
Type relate(Relation& r, const NoAttrs&) {
  r.require_float(0);  // C1
  return r.type(0);
}

// For reading, not for speed.
void evaluate(const NoAttrs&, Args in, Results out) {
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, in[0].get(i));
}

// dx = dy
std::vector<Expr> differentiate(Builder&, const NoAttrs&, const Site& c) { return {c.dy}; }

std::vector<kernel::Tensor> lower(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  return {k.compute("@STEM@", c.dtype(), c.shape(), [&](kernel::Indices i) { return c.in[0].at(i); })};
}

}  // namespace

const OpDef kTemplate = define<NoAttrs>({
    .name = "@NAME@",
    .doc = "Each element of x as it is.",
    .params = {{"x", "any floating-point tensor"}},
    .fusion = Fusion::kElementwise,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});
}  // namespace relay::op
