// What a program says to the pass `gradient` of tensors. A run sees the input itself.
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: x is a tensor.
#include "op/apply.h"
#include "op/define.h"
#include "op/ops.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const NoAttrs&) { return &r.tensor(0); }  // C1
Expr expand(Builder& b, const NoAttrs&, const Site& c) { return call(b, kCopy, {c.args[0]}); }

// stop_gradient(x) = x
//
// The pass `gradient` takes the result for a constant: nothing goes back to x.
std::vector<Expr> stop(Builder&, const NoAttrs&, const Site&) { return {nullptr}; }

}  // namespace

const OpDef kStopGradient = define<NoAttrs>({
    .name = "stop_gradient",
    .doc = "The input itself, which a gradient takes for a constant.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kElementwise,
    .view = true,
    .relate = relate,
    .expand = expand,
    .differentiate = stop,
});

}  // namespace relay::op
