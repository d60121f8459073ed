// @NAME@(x, least)[i] = max(x[i], least)
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.
//
// NaN stays NaN.
#include <vector>

#include "kernel/scalar.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/term.h"

namespace relay::op {
namespace {

struct TemplateAttrs {
  double least = 0;
  static constexpr auto kFields = fields(field("least", &TemplateAttrs::least, "the least result"));
};

Type relate(Relation& r, const TemplateAttrs&) {
  require(r, 0, Domain::kFloat);  // C1
  return &r.tensor(0);
}

// For reading, not for speed.
void evaluate(const TemplateAttrs& a, Args in, Results out) {
  for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, kernel::scalar::greatest(in[0].get(i), a.least));
}

// dx = 0 where x < least, dy elsewhere
std::vector<Expr> differentiate(Builder& b, const TemplateAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), dy(b, c.dy);
  return {where(less(x, x.number(a.least)), dy.number(0), dy)};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const TemplateAttrs& a, const Lowering& c) {
  const kernel::Expr least = k.pool().real(a.least, c.dtype());
  const auto element = [&](kernel::Indices i) { return max(c.in[0].at(i), least); };
  return {k.compute("@STEM@", c.dtype(), c.shape(), element)};
}

}  // namespace

const OpDef kTemplate = define<TemplateAttrs>({
    .name = "@NAME@",
    .doc = "The elements of x, and `least` where they are less.",
    .params = {{"x", "any floating-point tensor"}},
    .fusion = Fusion::kElementwise,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
