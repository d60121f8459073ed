// Between real numbers and small integers: real = scale * (q - zero_point).
//
// Scale and zero point are scalars, or vectors with an element for each index of one
// axis of the data.
#include <algorithm>

#include "base/cat.h"
#include "op/domain.h"
#include "op/qnn/common.h"

namespace relay::op {
namespace {

struct QuantizeAttrs {
  DType out_dtype = kInt8;
  int64_t axis = -1;
  static constexpr auto kFields =
      fields(field("out_dtype", &QuantizeAttrs::out_dtype, "of the result"),
             field("axis", &QuantizeAttrs::axis, "that vectors of scales and zero points go along"));
};

struct DequantizeAttrs {
  DType out_dtype = kFloat32;
  int64_t axis = -1;
  static constexpr auto kFields =
      fields(field("out_dtype", &DequantizeAttrs::out_dtype, "of the result"),
             field("axis", &DequantizeAttrs::axis, "that vectors of scales and zero points go along"));
};

struct RequantizeAttrs {
  int64_t axis = -1;
  std::string rounding = "None";
  std::string compute_dtype = "None";
  DType out_dtype = kInt8;
  static constexpr auto kFields = fields(
      field("axis", &RequantizeAttrs::axis, "that vectors of the input's scales and zero points go along"),
      field("rounding", &RequantizeAttrs::rounding, "of halves: UPWARD, or TONEAREST for away from zero"),
      field("compute_dtype", &RequantizeAttrs::compute_dtype, "accepted, but it is always float64"),
      field("out_dtype", &RequantizeAttrs::out_dtype, "of the result"));
};

// qnn.quantize(x, scale, zero) = saturate(round(x / scale) + zero), halves to even
//
//   (Tensor[s, d], Tensor[t, d], Tensor[u, e]) -> Tensor[s, out_dtype]
//   C1: d is floating.   C2: the scale has the dtype of the data.   C3: e is an integer.
//   C4: out_dtype is int8, uint8, int16 or uint16.   C5: t and u are () or the extent of the axis.
//   C6: axis is in [-rank, rank), if a scale or zero point is a vector.
//
// Narrow d computes in float32. NaN gives 0.
Type relate_quantize(Relation& r, const QuantizeAttrs& a) {
  require(r, 0, Domain::kFloat);    // C1
  r.require_same_dtype(1, 0);       // C2
  require(r, 2, Domain::kInteger);  // C3
  r.require(is_narrow_integer(a.out_dtype), kAttributes,
            "out_dtype must be int8, uint8, int16 or uint16");           // C4
  for (const int parameter : {1, 2}) require_fit(r, parameter, a.axis);  // C5, C6
  return r.context().tensor_type(r.tensor(0).dims, a.out_dtype);
}

Expr expand_quantize(Builder& b, const QuantizeAttrs& a, const Site& c) {
  const DType wide = c.tensor(0).dtype.bits < 32 ? kFloat32 : c.tensor(0).dtype;
  const Term x = to(wide, {b, c.args[0]});
  const Term scale = to(wide, along(b, c.args[1], x, a.axis)),
             zero = to(wide, along(b, c.args[2], x, a.axis));
  const Term steps = x / scale;
  return saturated(steps.apply(kRound, {steps}) + zero, a.out_dtype);
}

// qnn.dequantize(q, scale, zero) = (q - zero) * scale
//
//   (Tensor[s, d], Tensor[t, f], Tensor[u, e]) -> Tensor[s, out_dtype]
//   C1: d is an integer.   C2: f is floating.   C3: e is an integer.   C4: out_dtype is floating.
//   C5: t and u are () or the extent of the axis.
//   C6: axis is in [-rank, rank), if a scale or zero point is a vector.
//
// The difference is an int32.
Type relate_dequantize(Relation& r, const DequantizeAttrs& a) {
  require(r, 0, Domain::kInteger);                                                     // C1
  require(r, 1, Domain::kFloat);                                                       // C2
  require(r, 2, Domain::kInteger);                                                     // C3
  r.require(a.out_dtype.is_float(), kAttributes, "out_dtype must be floating-point");  // C4
  for (const int parameter : {1, 2}) require_fit(r, parameter, a.axis);                // C5, C6
  return r.context().tensor_type(r.tensor(0).dims, a.out_dtype);
}

Expr expand_dequantize(Builder& b, const DequantizeAttrs& a, const Site& c) {
  const DType wide = a.out_dtype.bits < 32 ? kFloat32 : a.out_dtype;
  const Term q = to(kInt32, {b, c.args[0]});
  const Term scale = to(wide, along(b, c.args[1], q, a.axis)),
             zero = to(kInt32, along(b, c.args[2], q, a.axis));
  return to(a.out_dtype, to(wide, q - zero) * scale);
}

// qnn.requantize(q, in_scale, in_zero, out_scale, out_zero) =
//     saturate(round((q - in_zero) * (in_scale / out_scale)) + out_zero)
//
//   (Tensor[s, d], Tensor[t, f], Tensor[u, e], Tensor[(), f], Tensor[(), e]) -> Tensor[s, out_dtype]
//   C1: q is an integer.   C2: scales are floating.   C3: zero points are integers.
//   C4: out_dtype is int8, uint8, int16, uint16 or int32.
//   C5: t and u are () or the extent of the axis; the output's scale and zero point are scalars.
//   C6: axis is in [-rank, rank), if a scale or zero point is a vector.
//   C7: rounding is "None" or "UPWARD" (halves up), or "TONEAREST" (halves away from zero).
//   C8: compute_dtype is "None", "int64", "float32" or "float64".
//
// Computed in float64 whatever compute_dtype says: the others are approximations of that.
Type relate_requantize(Relation& r, const RequantizeAttrs& a) {
  require(r, 0, Domain::kInteger);                                   // C1
  for (const int scale : {1, 3}) require(r, scale, Domain::kFloat);  // C2
  for (const int zero : {2, 4}) require(r, zero, Domain::kInteger);  // C3
  r.require(is_narrow_integer(a.out_dtype) || a.out_dtype == kInt32, kAttributes,
            "out_dtype must be int8, uint8, int16, uint16 or int32");    // C4
  for (const int parameter : {1, 2}) require_fit(r, parameter, a.axis);  // C5, C6
  for (const int parameter : {3, 4}) r.require_rank(parameter, 0);       // C5
  const auto one_of = [](const std::string& text, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  r.require(one_of(a.rounding, {"None", "UPWARD", "TONEAREST"}), kAttributes,
            cat("rounding must be UPWARD or TONEAREST, not `", a.rounding, "`"));  // C7
  r.require(one_of(a.compute_dtype, {"None", "int64", "float32", "float64"}), kAttributes,
            cat("compute_dtype must be int64, float32 or float64, not `", a.compute_dtype, "`"));  // C8
  return r.context().tensor_type(r.tensor(0).dims, a.out_dtype);
}

Expr expand_requantize(Builder& b, const RequantizeAttrs& a, const Site& c) {
  const auto wide = [&](size_t i) { return to(kFloat64, along(b, c.args[i], c.args[0], a.axis)); };
  const Term q = to(kFloat64, {b, c.args[0]}), ratio = wide(1) / to(kFloat64, {b, c.args[3]});
  const Term v = (q - wide(2)) * ratio;
  const Term rounded =
      a.rounding != "TONEAREST" ? half_up(v) : where(less(v, v.number(0)), -half_up(-v), half_up(v));
  return saturated(rounded + to(kFloat64, {b, c.args[4]}), a.out_dtype);
}

}  // namespace

const OpDef kQnnQuantize = define<QuantizeAttrs>({
    .name = "qnn.quantize",
    .doc = "Real numbers as small integers: divided by a scale, rounded, moved by a zero point, saturated.",
    .params = {{"data", "real numbers"},
               {"output_scale", "the distance of neighbouring integers"},
               {"output_zero_point", "the integer that stands for 0"}},
    .relate = relate_quantize,
    .expand = expand_quantize,
});

const OpDef kQnnDequantize = define<DequantizeAttrs>({
    .name = "qnn.dequantize",
    .doc = "The real numbers that small integers stand for.",
    .params = {{"data", "integers"},
               {"input_scale", "the distance of neighbouring integers"},
               {"input_zero_point", "the integer that stands for 0"}},
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 1},
    .relate = relate_dequantize,
    .expand = expand_dequantize,
});

const OpDef kQnnRequantize = define<RequantizeAttrs>({
    .name = "qnn.requantize",
    .doc = "Integers of one scale and zero point as integers of another.",
    .params = {{"data", "integers"},
               {"input_scale", "the distance of neighbouring integers before"},
               {"input_zero_point", "the integer that stood for 0"},
               {"output_scale", "the distance of neighbouring integers afterwards"},
               {"output_zero_point", "the integer that stands for 0"}},
    .relate = relate_requantize,
    .expand = expand_requantize,
});

}  // namespace relay::op
