// What a program says to the pass `gradient` of any value. A run sees the value itself.
#include "op/any_type.h"
#include "op/define.h"
#include "op/ops.h"

namespace relay::op {
namespace {

// annotation.checkpoint(x) = x
//
// (T) -> T   C1: the program determines T: a generic function is of no one type.
//
// The pass `gradient` keeps nothing of how x was computed. On the way back x is computed once more
// (docs/gradients.md, "Checkpoints"). That is so of tensors and tuples of them; other values have
// no adjoint, and are kept.
Type relate(Relation& r, const NoAttrs&) { return r.type(0); }  // C1
Expr expand(Builder&, const NoAttrs&, const Site& c) { return c.args[0]; }
std::vector<Expr> differentiate(Builder&, const NoAttrs&, const Site& c) { return {c.dy}; }

}  // namespace

const OpDef kCheckpoint = define<NoAttrs>({
    .name = "annotation.checkpoint",
    .doc = "The input itself, which a gradient computes once more on its way back.",
    .params = {{"data", "the expression that is computed again"}},
    .fusion = Fusion::kElementwise,
    .view = true,
    .relate = relate,
    .expand = expand,
    .differentiate = differentiate,
});

}  // namespace relay::op
