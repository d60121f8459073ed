// clip(x, a_min, a_max)[i] = min(max(x[i], a_min), a_max)
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: d is numeric.   C2: neither bound is NaN.
//
// NaN stays NaN. If a_min is above a_max the result is a_max. Of integers, a bound with a fraction
// counts as the nearest integer inside, and one beyond the dtype's range as the end of the range.
#include <cmath>

#include "op/domain.h"
#include "op/math/convert.h"
#include "op/term.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const ClipAttrs& a) {
  require(r, 0, Domain::kNumber);                                                                   // C1
  r.require(!std::isnan(a.a_min) && !std::isnan(a.a_max), kAttributes, "a bound must not be NaN");  // C2
  return &r.tensor(0);
}

struct Bounds {
  int64_t low, high;
};
Bounds integer_bounds(DType d, const ClipAttrs& a) {
  return {integer_of_real(d, std::ceil(a.a_min)), integer_of_real(d, std::floor(a.a_max))};
}

void evaluate(const ClipAttrs& a, Args in, Results out) {
  const Tensor& x = in[0];
  const DType d = x.dtype();
  if (d.is_float()) {
    for (int64_t i = 0; i < x.size(); ++i) {
      const double v = x.get(i), raised = v < a.a_min ? a.a_min : v;
      out[0].set(i, raised > a.a_max ? a.a_max : raised);
    }
    return;
  }
  const Bounds bounds = integer_bounds(d, a);
  const auto less = [&](int64_t p, int64_t q) {
    return d.is_signed_int() ? p < q : static_cast<uint64_t>(p) < static_cast<uint64_t>(q);
  };
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t v = x.get_int(i), raised = less(v, bounds.low) ? bounds.low : v;
    out[0].set_int(i, less(bounds.high, raised) ? bounds.high : raised);
  }
}

// dx = dy where a_min <= x <= a_max, 0 elsewhere
std::vector<Expr> differentiate(Builder& b, const ClipAttrs& a, const Site& c) {
  const Term x(b, c.args[0]), dy(b, c.dy), none = dy.number(0);
  return {where(less(x, x.number(a.a_min)), none, where(less(x.number(a.a_max), x), none, dy))};
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const ClipAttrs& a, const Lowering& c) {
  const DType d = c.dtype();
  kernel::Expr low = k.constant(d, 0), high = low;
  if (d.is_float()) {
    low = k.pool().real(a.a_min, d), high = k.pool().real(a.a_max, d);
  } else {
    const Bounds bounds = integer_bounds(d, a);
    low = k.pool().integer(bounds.low, d), high = k.pool().integer(bounds.high, d);
  }
  return {
      k.compute("clip", d, c.shape(), [&](kernel::Indices i) { return min(max(c.in[0].at(i), low), high); })};
}

}  // namespace

const OpDef kClip = define<ClipAttrs>({
    .name = "clip",
    .doc = "The elements, moved to the nearer end where they are outside of an interval.",
    .params = {{"data", "the input"}},
    .fusion = Fusion::kElementwise,
    .relate = relate,
    .evaluate = evaluate,
    .differentiate = differentiate,
    .lower = lower,
});

}  // namespace relay::op
