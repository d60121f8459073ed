// fast_exp(x) = exp(x)
// fast_tanh(x) = tanh(x)
// fast_erf(x) = erf(x)
//
//   (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.
//
// Where other systems take a coarser polynomial, these are the functions themselves: their own
// polynomials are as fast, and within 4 units in the last place.
#include "op/define.h"
#include "op/domain.h"
#include "op/term.h"

namespace relay::op {
namespace {

const Tolerance kTolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 4};

Type relate(Relation& r, const NoAttrs&) {
  require(r, 0, Domain::kFloat);  // C1
  return &r.tensor(0);
}

Expr expand_exp(Builder& b, const NoAttrs&, const Site& c) { return call(b, kExp, {c.args[0]}); }
Expr expand_tanh(Builder& b, const NoAttrs&, const Site& c) { return call(b, kTanh, {c.args[0]}); }
Expr expand_erf(Builder& b, const NoAttrs&, const Site& c) { return call(b, kErf, {c.args[0]}); }

}  // namespace

const OpDef kFastExp = define<NoAttrs>({
    .name = "fast_exp",
    .doc = "e to the power of the number, as exp gives it.",
    .params = {{"data", "the input"}},
    .tolerance = kTolerance,
    .relate = relate,
    .expand = expand_exp,
});

const OpDef kFastTanh = define<NoAttrs>({
    .name = "fast_tanh",
    .doc = "The hyperbolic tangent, as tanh gives it.",
    .params = {{"data", "the input"}},
    .tolerance = kTolerance,
    .relate = relate,
    .expand = expand_tanh,
});

const OpDef kFastErf = define<NoAttrs>({
    .name = "fast_erf",
    .doc = "The error function, as erf gives it.",
    .params = {{"data", "the input"}},
    .tolerance = kTolerance,
    .relate = relate,
    .expand = expand_erf,
});

}  // namespace relay::op
