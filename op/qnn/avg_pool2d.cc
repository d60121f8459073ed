// qnn.avg_pool2d(q, sq, zq, s, z) = saturate(round(m * (sq / s)) + z),
//     where m = nn.avg_pool2d(q - zq)
//
//   (Tensor[(n, c, h, w), d], f, e, f, e) -> Tensor[(n, c, h', w'), d]
//   C1: d is int8, uint8, int16 or uint16.   C2: scales are floating scalars.
//   C3: zero points are integers, and scalars.
//   C4: data and attributes are as nn.avg_pool2d wants them.
//
// Computed in float64, where sums of integers are exact, and rounded once, halves up. Padding
// stands for 0. So does a window without any element.
#include "op/nn/pooling.h"
#include "op/qnn/common.h"

namespace relay::op {
namespace {

Type relate(Relation& r, const AvgPoolAttrs& a) {
  require_narrow_integer(r, 0);                                 // C1
  for (const int scale : {1, 3}) require_parameters(r, scale);  // C2, C3
  for (const int scale : {1, 3}) require_scalars(r, scale);     // C2, C3
  std::vector<AttrArg> attrs = pool_attrs(a);
  attrs.push_back({"out_layout", a.out_layout});
  return kAvgPool2d.relate(r, r.context().attrs(attrs));  // C4
}

Expr expand(Builder& b, const AvgPoolAttrs& a, const Site& c) {
  const auto wide = [&](size_t i) { return to(kFloat64, {b, c.args[i]}); };
  const Term q = wide(0) - wide(2);
  Term mean = q.apply(kAvgPool2d, {q}, pool_attrs(a));
  const Pool p = read_pool(a);
  if (p.window.pads() || p.ceil) {  // there may be windows without elements, whose mean is NaN
    const Term none = mean.apply(kIsNan, {mean});
    mean = where(none, mean.number(0), mean);
  }
  return saturated(half_up(mean * (wide(1) / wide(3))) + wide(4), c.tensor(0).dtype);
}

}  // namespace

const OpDef kQnnAvgPool2d = define<AvgPoolAttrs>({
    .name = "qnn.avg_pool2d",
    .doc = "The mean of what small integers stand for, in each window of an image, as small integers.",
    .params = {{"data", "a batch of images"},
               {"input_scale", "the distance of neighbouring integers of the data"},
               {"input_zero_point", "the integer of the data that stands for 0"},
               {"output_scale", "the distance of neighbouring integers of the result"},
               {"output_zero_point", "the integer of the result that stands for 0"}},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
