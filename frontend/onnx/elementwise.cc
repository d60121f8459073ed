// Arithmetic, comparison, logic: one element of the result needs one element of each input.
#include "base/cat.h"
#include "frontend/onnx/stored.h"

namespace relay::frontend {
namespace {

using namespace op;

template <const OpDef& op>
Results unary(Node& n) {
  return {n.call(op, {n.input(0)})};
}

template <const OpDef& op>
Results binary(Node& n) {
  return {n.call(op, {n.input(0), n.input(1)})};
}

// Any number of inputs, folded from the left.
template <const OpDef& op>
Results variadic(Node& n) {
  n.require(n.inputs() > 0, "it has no inputs");
  Expr e = n.input(0);
  for (size_t i = 1; i < n.inputs(); ++i) e = n.call(op, {e, n.input(i)});
  return {e};
}

Results mean(Node& n) {
  const Expr sum = variadic<kAdd>(n)[0];
  return {n.call(kDivide, {sum, n.scalar(n.dtype(0), static_cast<double>(n.inputs()))})};
}

Results reciprocal(Node& n) { return {n.call(kDivide, {n.scalar(n.dtype(0), 1), n.input(0)})}; }

// The result has the dtype of the base. The operator has floats alone: powers of integers are
// computed in float64.
Results power(Node& n) {
  const DType base = n.dtype(0), exponent = n.dtype(1);
  const DType wide = base.is_float() ? base : kFloat64;
  if (exponent.is_bool()) n.invalid("its exponent is no number");
  return {n.cast(n.call(kPower, {n.cast(n.input(0), wide), n.cast(n.input(1), wide)}), base)};
}

// fmod: the sign of the dividend, as in C; otherwise that of the divisor, as in Python.
Results modulo(Node& n) {
  const bool truncating = n.integer("fmod", 0) != 0;
  if (n.dtype(0).is_float() && !truncating && n.opset() < 28)
    n.invalid("before version 28, floating-point numbers need the attribute fmod=1");
  return truncating ? binary<kMod>(n) : binary<kFloorMod>(n);
}

// A shift by a negative number, or by at least the width, leaves the sign alone. Operators trap
// there, so that they get another distance.
Results bit_shift(Node& n) {
  const std::string direction = n.text("direction", "");
  n.require(direction == "LEFT" || direction == "RIGHT", "its direction is neither LEFT nor RIGHT");
  const bool left = direction == "LEFT";
  const Expr x = n.input(0), distance = n.input(1);
  const DType dtype = n.dtype(0);
  n.require(dtype.is_int() && n.dtype(1) == dtype, "its inputs must be integers of the same dtype");
  const auto number = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(dtype, v)); };
  const Expr zero = number(0), most = number(dtype.bits - 1);
  const Expr far = n.call(kLogicalOr, {n.call(kLess, {distance, zero}), n.call(kGreater, {distance, most})});
  if (!left && dtype.is_signed_int())  // the last shift gives 0 or -1, as all further ones do
    return {n.call(kRightShift, {x, n.call(kWhere, {far, most, distance})})};
  const Expr near = n.call(left ? kLeftShift : kRightShift, {x, n.call(kWhere, {far, zero, distance})});
  return {n.call(kWhere, {far, zero, near})};
}

Results is_inf(Node& n) {
  const bool negative = n.integer("detect_negative", 1) != 0, positive = n.integer("detect_positive", 1) != 0;
  const Expr x = numbers_at(n, 0), infinite = n.call(kIsInf, {x}), zero = n.scalar(type_of(x).dtype, 0);
  if (negative && positive) return {infinite};
  const Expr none = n.call(kLogicalAnd, {infinite, n.call(kLogicalNot, {infinite})});
  if (!negative && !positive) return {none};
  return {n.call(kLogicalAnd, {infinite, n.call(negative ? kLess : kGreater, {x, zero})})};
}

Results is_nan(Node& n) { return {n.call(kIsNan, {numbers_at(n, 0)})}; }

Results where(Node& n) { return {n.call(kWhere, {n.input(0), n.input(1), n.input(2)})}; }

Results clip_between(Node& n, Expr x, std::optional<double> low, std::optional<double> high) {
  if (low && high) return {n.call(kClip, {x}, {{"a_min", *low}, {"a_max", *high}})};
  if (low) x = n.call(kMaximum, {x, n.scalar(type_of(x).dtype, *low)});
  if (high) x = n.call(kMinimum, {x, n.scalar(type_of(x).dtype, *high)});
  return {x};
}

Results clip_attributes(Node& n) {
  std::optional<double> low, high;
  if (n.attribute("min")) low = n.real("min", 0);
  if (n.attribute("max")) high = n.real("max", 0);
  return clip_between(n, n.input(0), low, high);
}

Results clip(Node& n) {
  const auto bound = [&](size_t i) -> std::optional<double> {
    const std::optional<Tensor> t = n.known(i);
    if (!t) return std::nullopt;
    n.require(t->size() == 1, "its bounds must be single numbers");
    return t->get(0);
  };
  const std::optional<double> low = bound(1), high = bound(2);
  if (n.has(1) == low.has_value() && n.has(2) == high.has_value())
    return clip_between(n, n.input(0), low, high);
  Expr x = n.input(0);
  if (n.has(1)) x = n.call(kMaximum, {x, n.reshape(n.input(1), {})});
  if (n.has(2)) x = n.call(kMinimum, {x, n.reshape(n.input(2), {})});
  return {x};
}

constexpr Row kRows[] = {
    {"Abs", 1, unary<kAbs>},
    {"Acos", 7, unary<kAcos>},
    {"Acosh", 9, unary<kAcosh>},
    {"Add", 7, binary<kAdd>},
    {"And", 7, binary<kLogicalAnd>},
    {"Asin", 7, unary<kAsin>},
    {"Asinh", 9, unary<kAsinh>},
    {"Atan", 7, unary<kAtan>},
    {"Atanh", 9, unary<kAtanh>},
    {"BitShift", 11, bit_shift},
    {"BitwiseAnd", 18, binary<kBitwiseAnd>},
    {"BitwiseNot", 18, unary<kBitwiseNot>},
    {"BitwiseOr", 18, binary<kBitwiseOr>},
    {"BitwiseXor", 18, binary<kBitwiseXor>},
    {"Ceil", 1, unary<kCeil>},
    {"Clip", 1, clip_attributes},
    {"Clip", 11, clip},
    {"Cos", 7, unary<kCos>},
    {"Cosh", 9, unary<kCosh>},
    {"Div", 7, binary<kDivide>},
    {"Equal", 7, binary<kEqual>, "strings"},
    {"Erf", 9, unary<kErf>},
    {"Exp", 1, unary<kExp>},
    {"Floor", 1, unary<kFloor>},
    {"Greater", 7, binary<kGreater>},
    {"GreaterOrEqual", 12, binary<kGreaterEqual>},
    {"IsInf", 10, is_inf},
    {"IsNaN", 9, is_nan},
    {"Less", 7, binary<kLess>},
    {"LessOrEqual", 12, binary<kLessEqual>},
    {"Log", 1, unary<kLog>},
    {"Max", 1, variadic<kMaximum>},
    {"Mean", 1, mean},
    {"Min", 1, variadic<kMinimum>},
    {"Mod", 10, modulo},
    {"Mul", 7, binary<kMultiply>},
    {"Neg", 1, unary<kNegative>},
    {"Not", 1, unary<kLogicalNot>},
    {"Or", 7, binary<kLogicalOr>},
    {"Pow", 7, power},
    {"Reciprocal", 1, reciprocal},
    {"Round", 11, unary<kRound>},
    {"Sign", 9, unary<kSign>},
    {"Sin", 7, unary<kSin>},
    {"Sinh", 9, unary<kSinh>},
    {"Sqrt", 1, unary<kSqrt>},
    {"Sub", 7, binary<kSubtract>},
    {"Sum", 1, variadic<kAdd>},
    {"Tan", 7, unary<kTan>},
    {"Where", 9, where},
    {"Xor", 7, binary<kLogicalXor>},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace relay::frontend
