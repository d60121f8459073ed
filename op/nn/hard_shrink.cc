// nn.hard_shrink(x, lambd)[i] = x[i] where x[i] < -lambd or x[i] > lambd, 0 elsewhere
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.
//
// ONNX's Shrink without a bias. NaN is neither less nor greater, so it becomes 0. A negative lambd
// keeps every number. lambd is rounded to d: 0.1 of float32 is not greater than lambd=0.1.
#include "op/define.h"
#include "op/domain.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct HardShrinkAttrs {
  double lambd = 0.5;
  static constexpr auto kFields =
      fields(field("lambd", &HardShrinkAttrs::lambd, "numbers from -lambd to lambd become 0"));
};

Type relate(Relation& r, const HardShrinkAttrs&) {
  require(r, 0, Domain::kFloat);  // C1
  return &r.tensor(0);
}

Expr expand(Builder& b, const HardShrinkAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), low = x.number(-a.lambd), high = x.number(a.lambd);
  return where(less(x, low), x, where(less(high, x), x, x.number(0)));
}

}  // namespace

// No tolerance: the elements are copied.
const OpDef kHardShrink = define<HardShrinkAttrs>({
    .name = "nn.hard_shrink",
    .doc = "The number if its magnitude is above a threshold, else 0; NaN becomes 0.",
    .params = {{"x", "any floating-point tensor"}},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
