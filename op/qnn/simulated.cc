// Quantisation in real numbers: they are rounded as integers would be, and stay floats.
#include "base/cat.h"
#include "op/domain.h"
#include "op/qnn/common.h"
#include "op/tensor/attributes.h"

namespace relay::op {
namespace {

struct QnnSimulatedQuantizeAttrs {
  int64_t axis = -1;
  static constexpr auto kFields = fields(
      field("axis", &QnnSimulatedQuantizeAttrs::axis, "that vectors of scales and zero points go along"));
};

struct QnnSimulatedDequantizeAttrs {
  MaybeDType out_dtype = {};
  int64_t axis = -1;
  static constexpr auto kFields = fields(
      field("out_dtype", &QnnSimulatedDequantizeAttrs::out_dtype, "None, or the data's"),
      field("axis", &QnnSimulatedDequantizeAttrs::axis, "that vectors of scales and zero points go along"));
};

struct SimulatedQuantizeAttrs {
  int64_t kind = 0;
  bool sign = true;
  std::string rounding = "round";
  static constexpr auto kFields = fields(
      field("kind", &SimulatedQuantizeAttrs::kind, "0: the data as it is; 1: an input, 2: a weight, 3: else")
          .required(),
      field("sign", &SimulatedQuantizeAttrs::sign, "True: the integers have a sign"),
      field("rounding", &SimulatedQuantizeAttrs::rounding, "round"));
};

// --- qnn.simulated_quantize, qnn.simulated_dequantize --------------------------------------------

// qnn.simulated_quantize(x, t, s, z) = clip(round(x / s) + z, low, high) if t is 1, 2 or 3; else x
// qnn.simulated_dequantize(x, t, s, z) = (x - z) * s if t is 1, 2 or 3; else x
//
//   (Tensor[s, d], Tensor[(), i], Tensor[t, d], Tensor[u, e]) -> Tensor[s, d]
//   C1: d is floating.   C2: t is an integer scalar.   C3: the scale has the dtype of the data.
//   C4: e is an integer.   C5: t and u are () or the extent of the axis.
//   C6: axis is in [-rank, rank), if a scale or zero point is a vector.
//   C7: out_dtype is None or d.
//
// The code t says of which dtype the integers would be: 1 is int8, 2 uint8, 3 int32, whose range is
// from low to high, both rounded to d. Halves are rounded to even. Narrow d computes in float32.
template <class A>
Type relate(Relation& r, const A& a) {
  require(r, 0, Domain::kFloat);                                         // C1
  require(r, 1, Domain::kInteger);                                       // C2
  r.require_rank(1, 0);                                                  // C2
  r.require_same_dtype(2, 0);                                            // C3
  require(r, 3, Domain::kInteger);                                       // C4
  for (const int parameter : {2, 3}) require_fit(r, parameter, a.axis);  // C5, C6
  return &r.tensor(0);
}

Type relate_dequantize(Relation& r, const QnnSimulatedDequantizeAttrs& a) {
  const Type result = relate(r, a);
  const DType d = r.tensor(0).dtype;
  r.require(a.out_dtype.value_or(d) == d, kAttributes,
            cat("out_dtype must be the data's, ", d.name()));  // C7
  return result;
}

// Is the code that of a dtype?
Term is_dtype(Term code) {
  return code.apply(kLogicalAnd, {less(code.number(0), code), less(code, code.number(4))});
}

struct Operands {
  Term x, code, scale, zero;

  Operands(Builder& b, const Site& c, int64_t axis)
      : x(to(wide(c), {b, c.args[0]})),
        code(b, c.args[1]),
        scale(to(wide(c), along(b, c.args[2], x, axis))),
        zero(to(wide(c), along(b, c.args[3], x, axis))) {}
  static DType wide(const Site& c) { return c.tensor(0).dtype.bits < 32 ? kFloat32 : c.tensor(0).dtype; }
  // y where the code is that of a dtype, the data elsewhere; in the dtype of the data.
  Expr simulated(const Site& c, Term y) const { return to(c.tensor(0).dtype, where(is_dtype(code), y, x)); }
};

Expr expand_quantize(Builder& b, const QnnSimulatedQuantizeAttrs& a, const Site& c) {
  const Operands o(b, c, a.axis);
  const auto chosen = [&](int64_t IntegerRange::* end) {
    const auto number = [&](DType d) { return o.x.number(static_cast<double>(range_of(d).*end)); };
    const auto is = [&](double code) { return o.code.apply(kEqual, {o.code, o.code.number(code)}); };
    return where(is(1), number(kInt8), where(is(2), number(kUInt8), number(kInt32)));
  };
  const Term steps = o.x / o.scale, integers = steps.apply(kRound, {steps}) + o.zero;
  const Term most = integers.apply(kMinimum, {integers, chosen(&IntegerRange::high)});
  return o.simulated(c, most.apply(kMaximum, {most, chosen(&IntegerRange::low)}));
}

Expr expand_dequantize(Builder& b, const QnnSimulatedDequantizeAttrs& a, const Site& c) {
  const Operands o(b, c, a.axis);
  return o.simulated(c, (o.x - o.zero) * o.scale);
}

// --- relay.op.annotation.simulated_quantize ------------------------------------------------------

// relay.op.annotation.simulated_quantize(x, s, low, high) = round(clip(x / s, low, high)) * s if kind is
//     1, 2 or 3; x if it is 0
//
//   (Tensor[s, d], Tensor[(), d], Tensor[(), d], Tensor[(), d]) -> Tensor[s, d]
//   C1: d is floating.   C2: the scale and the ends of the range are scalars of dtype d.
//   C3: kind is 0, 1, 2 or 3.   C4: sign is True.   C5: rounding is "round".
//
// Halves are rounded to even. Narrow d computes in float32.
Type relate_annotation(Relation& r, const SimulatedQuantizeAttrs& a) {
  require(r, 0, Domain::kFloat);  // C1
  for (const int arg : {1, 2, 3}) {
    r.require_rank(arg, 0);        // C2
    r.require_same_dtype(arg, 0);  // C2
  }
  r.require(a.kind >= 0 && a.kind <= 3, kAttributes, cat("kind must be 0, 1, 2 or 3, not ", a.kind));  // C3
  r.require(a.sign, kAttributes, "sign must be True");                                                 // C4
  r.require(a.rounding == "round", kAttributes,
            cat("rounding must be \"round\", not \"", a.rounding, "\""));  // C5
  return &r.tensor(0);
}

Expr expand_annotation(Builder& b, const SimulatedQuantizeAttrs& a, const Site& c) {
  if (a.kind == 0) return c.args[0];
  const DType d = c.tensor(0).dtype, wide = d.bits < 32 ? kFloat32 : d;
  const auto operand = [&](size_t i) { return to(wide, {b, c.args[i]}); };
  const Term steps = operand(0) / operand(1);
  const Term most = steps.apply(kMinimum, {steps, operand(3)}),
             kept = most.apply(kMaximum, {most, operand(2)});
  return to(d, kept.apply(kRound, {kept}) * operand(1));
}

}  // namespace

const OpDef kQnnSimulatedQuantize = define<QnnSimulatedQuantizeAttrs>({
    .name = "qnn.simulated_quantize",
    .doc = "Real numbers as floats that have the values of small integers.",
    .params = {{"data", "real numbers"},
               {"out_dtype", "the dtype that is simulated: 1 int8, 2 uint8, 3 int32, others none"},
               {"output_scale", "the distance of neighbouring integers"},
               {"output_zero_point", "the integer that stands for 0"}},
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 1},
    .relate = relate<QnnSimulatedQuantizeAttrs>,
    .expand = expand_quantize,
});

const OpDef kQnnSimulatedDequantize = define<QnnSimulatedDequantizeAttrs>({
    .name = "qnn.simulated_dequantize",
    .doc = "The real numbers that floats with the values of integers stand for.",
    .params = {{"data", "floats with the values of integers"},
               {"in_dtype", "the dtype that is simulated: 1 int8, 2 uint8, 3 int32, others none"},
               {"input_scale", "the distance of neighbouring integers"},
               {"input_zero_point", "the integer that stands for 0"}},
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 1},
    .relate = relate_dequantize,
    .expand = expand_dequantize,
});

const OpDef kSimulatedQuantize = define<SimulatedQuantizeAttrs>({
    .name = "relay.op.annotation.simulated_quantize",
    .doc = "Real numbers with the error that quantising makes.",
    .params = {{"data", "real numbers"},
               {"dom_scale", "the distance of neighbouring integers"},
               {"clip_min", "the least integer"},
               {"clip_max", "the largest integer"}},
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 1},
    .relate = relate_annotation,
    .expand = expand_annotation,
});

}  // namespace relay::op
