// Functions of what small integers stand for, as small integers.
//
//   qnn.sigmoid(q, sq, zq, s, z) = qnn.quantize(sigmoid(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.tanh(q, sq, zq, s, z) = qnn.quantize(tanh(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.exp(q, sq, zq, s, z) = qnn.quantize(exp(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.log(q, sq, zq, s, z) = qnn.quantize(log(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.sqrt(q, sq, zq, s, z) = qnn.quantize(sqrt(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.rsqrt(q, sq, zq, s, z) = qnn.quantize(rsqrt(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.erf(q, sq, zq, s, z) = qnn.quantize(erf(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.abs(q, sq, zq, s, z) = qnn.quantize(abs(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.hardswish(q, sq, zq, s, z) = qnn.quantize(x * clip(x + 3, 0, 6) / 6, s, z),
//       where x = qnn.dequantize(q, sq, zq)
//   qnn.leaky_relu(q, sq, zq, s, z) = qnn.quantize(nn.leaky_relu(qnn.dequantize(q, sq, zq)), s, z)
//   qnn.softmax(q, sq, zq, s, z) = qnn.quantize(nn.softmax(qnn.dequantize(q, sq, zq)), s, z)
//
//   (Tensor[p, d], f, e, f, e) -> Tensor[p, d]
//   C1: d is int8, uint8, int16 or uint16.
//   C2: scales are floating.
//   C3: zero points are integers.
//   C4: scales and zero points are scalars.   C5: the axis of qnn.softmax is in [-rank, rank).
//
// The real numbers are float64, whatever the scales are, and rounded once: halves to even. So all
// engines give the same integers, though their functions differ by some units in the last place.
// What is beyond the range saturates, infinities too; NaN, as of the logarithm of -1, gives 0.
#include <algorithm>

#include "op/nn/leaky_relu.h"
#include "op/nn/softmax.h"
#include "op/qnn/common.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

template <class A>
Type relate(Relation& r, const A&) {
  require_narrow_integer(r, 0);                                 // C1
  for (const int scale : {1, 3}) require_parameters(r, scale);  // C2, C3
  for (const int scale : {1, 3}) require_scalars(r, scale);     // C4
  return &r.tensor(0);
}

Type relate_softmax(Relation& r, const SoftmaxAttrs& a) {
  const Type result = relate(r, a);
  r.axis(a.axis, r.tensor(0).rank());  // C5
  return result;
}

// --- the functions on real numbers ---------------------------------------------------------------

template <const OpDef& op>
Term apply(Term x, const NoAttrs&) {
  return x.apply(op, {x});
}

Term hard_swish(Term x, const NoAttrs&) {
  return x * x.apply(kClip, {x + 3.0}, {{"a_min", 0.0}, {"a_max", 6.0}}) / 6.0;
}

Term leaky_relu(Term x, const LeakyReluAttrs& a) { return x.apply(kLeakyRelu, {x}, {{"alpha", a.alpha}}); }

Term softmax(Term x, const SoftmaxAttrs& a) { return x.apply(kSoftmax, {x}, {{"axis", a.axis}}); }

// --- the functions on integers -------------------------------------------------------------------

template <class A>
using Function = Term (*)(Term x, const A& a);

template <class A>
Expr quantized(Builder& b, Function<A> f, const A& a, Expr q, const Site& c) {
  const Term x(b, call(b, kQnnDequantize, {q, c.args[1], c.args[2]}, {{"out_dtype", kFloat64}}));
  return call(b, kQnnQuantize, {f(x, a), to(kFloat64, {b, c.args[3]}), c.args[4]},
              {{"out_dtype", c.tensor(0).dtype}});
}

// All integers of 8 bits, each at the place that its bits say.
Expr all_integers(Builder& b, DType d) {
  Tensor all(d, {256});
  for (int64_t i = 0; i < 256; ++i) all.set_int(i, d.is_signed_int() && i >= 128 ? i - 256 : i);
  return b.constant(all);
}

template <class A, Function<A> f>
Expr expand_by_lines(Builder& b, const A& a, const Site& c) {
  return quantized(b, f, a, c.args[0], c);
}

// Of 8 bits, a table has all results. Where the scales are constants, it is one too.
template <class A, Function<A> f>
Expr expand(Builder& b, const A& a, const Site& c) {
  const DType d = c.tensor(0).dtype;
  const auto constant = [](Expr e) { return e->as<Constant>() != nullptr; };
  if (d.bits != 8 || !std::all_of(c.args.begin() + 1, c.args.end(), constant))
    return quantized(b, f, a, c.args[0], c);
  const Expr table = quantized(b, f, a, all_integers(b, d), c);
  return call(b, kTake, {table, to(kUInt8, {b, c.args[0]})}, {{"axis", int64_t{0}}});
}

std::vector<Param> params() {
  return {{"data", "small integers"},
          {"input_scale", "the distance of neighbouring integers of the data"},
          {"input_zero_point", "the integer of the data that stands for 0"},
          {"output_scale", "the distance of neighbouring integers of the result"},
          {"output_zero_point", "the integer of the result that stands for 0"}};
}

template <Function<NoAttrs> f>
OpDef function(std::string name, std::string doc) {
  return define<NoAttrs>({
      .name = std::move(name),
      .doc = std::move(doc),
      .params = params(),
      .relate = relate<NoAttrs>,
      .expand = expand<NoAttrs, f>,
  });
}

}  // namespace

const OpDef kQnnSigmoid =
    function<apply<kSigmoid>>("qnn.sigmoid", "The sigmoid of what small integers stand for.");

const OpDef kQnnTanh =
    function<apply<kTanh>>("qnn.tanh", "The hyperbolic tangent of what small integers stand for.");

const OpDef kQnnExp = function<apply<kExp>>("qnn.exp", "e to the power of what small integers stand for.");

const OpDef kQnnLog =
    function<apply<kLog>>("qnn.log", "The natural logarithm of what small integers stand for.");

const OpDef kQnnSqrt =
    function<apply<kSqrt>>("qnn.sqrt", "The square root of what small integers stand for.");

const OpDef kQnnRsqrt =
    function<apply<kRsqrt>>("qnn.rsqrt", "One over the square root of what small integers stand for.");

const OpDef kQnnErf =
    function<apply<kErf>>("qnn.erf", "The error function of what small integers stand for.");

const OpDef kQnnAbs =
    function<apply<kAbs>>("qnn.abs", "The absolute value of what small integers stand for.");

const OpDef kQnnHardswish =
    function<hard_swish>("qnn.hardswish", "x * clip(x + 3, 0, 6) / 6 of what small integers stand for.");

const OpDef kQnnLeakyRelu = define<LeakyReluAttrs>({
    .name = "qnn.leaky_relu",
    .doc = "nn.leaky_relu of what small integers stand for.",
    .params = params(),
    .relate = relate<LeakyReluAttrs>,
    .expand = expand<LeakyReluAttrs, leaky_relu>,
});

const OpDef kQnnSoftmax = define<SoftmaxAttrs>({
    .name = "qnn.softmax",
    .doc = "nn.softmax of what small integers stand for.",
    .params = params(),
    .relate = relate_softmax,
    .expand = expand_by_lines<SoftmaxAttrs, softmax>,
});

}  // namespace relay::op
