// nn.dropout(data) = (data, mask): at inference, the data itself and a mask of ones.
//
//   (Tensor[s, d]) -> (Tensor[s, d], Tensor[s, d])   C1: d is floating.   C2: rate is in [0, 1).
#include "op/domain.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct DropoutAttrs {
  double rate = 0.5;
  static constexpr auto kFields =
      fields(field("rate", &DropoutAttrs::rate, "how likely an element is dropped in training"));
};

Type relate(Relation& r, const DropoutAttrs& a) {
  require(r, 0, Domain::kFloat);                                                             // C1
  r.require(a.rate >= 0 && a.rate < 1, kAttributes, "rate must be at least 0 and below 1");  // C2
  const Type x = &r.tensor(0);
  return r.tuple_of({x, x});
}

Expr expand(Builder& b, const DropoutAttrs&, const Site& c) {
  return b.tuple({c.args[0], call(b, kOnesLike, {c.args[0]})});
}

}  // namespace

const OpDef kDropout = define<DropoutAttrs>({
    .name = "nn.dropout",
    .doc = "Nothing at inference; in training, elements are dropped at random.",
    .params = {{"data", "the input"}},
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
