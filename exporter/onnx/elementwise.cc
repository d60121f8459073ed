// Arithmetic, comparison, logic: one element of the result needs one element of each argument.
#include <array>
#include <cmath>

#include "base/cat.h"
#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

// The ONNX operator's name is a parameter: rows are texts.
template <size_t n>
struct Text {
  std::array<char, n> chars;
  constexpr Text(const char (&text)[n]) { std::copy_n(text, n, chars.begin()); }  // NOLINT
  constexpr std::string_view view() const { return {chars.data(), n - 1}; }
};

template <Text op>
Names unary(Site& s) {
  return {s.node(op.view(), {s.arg(0)})};
}
template <Text op>
Names binary(Site& s) {
  return {s.node(op.view(), {s.arg(0), s.arg(1)})};
}
template <Text op>
Names not_binary(Site& s) {
  return {s.node("Not", {s.node(op.view(), {s.arg(0), s.arg(1)})})};
}

// Bits of booleans are their logic.
template <Text bits, Text logic>
Names bitwise(Site& s) {
  return {s.node(s.type(0).dtype.is_bool() ? logic.view() : bits.view(), {s.arg(0), s.arg(1)})};
}
Names bitwise_not(Site& s) { return {s.node(s.type(0).dtype.is_bool() ? "Not" : "BitwiseNot", {s.arg(0)})}; }

template <Text direction>
Names shift(Site& s) {
  s.require(s.type(0).dtype.is_unsigned_int(), "ONNX shifts unsigned integers only");
  return {s.node("BitShift", {s.arg(0), s.arg(1)}, {{"direction", std::string(direction.view())}})};
}

Names rsqrt(Site& s) { return {s.node("Reciprocal", {s.node("Sqrt", {s.arg(0)})})}; }

// To another base than e.
template <int base>
Names logarithm(Site& s) {
  return {s.node("Div", {s.node("Log", {s.arg(0)}), s.scalar(s.type(0).dtype, std::log(double{base}))})};
}

Names is_finite(Site& s) {
  const std::string infinite = s.node("IsInf", {s.arg(0)}), nan = s.node("IsNaN", {s.arg(0)});
  return {s.node("Not", {s.node("Or", {infinite, nan})})};
}

Names floor_mod(Site& s) {
  s.require(s.type(0).dtype.is_int(),
            "of floats, ONNX has only the remainder with the dividend's sign (`mod`)");
  return {s.node("Mod", {s.arg(0), s.arg(1)})};
}
Names mod(Site& s) { return {s.node("Mod", {s.arg(0), s.arg(1)}, {{"fmod", 1}})}; }

// Of integers, a bound with a fraction is the nearest integer inside; a tensor is moved into the
// range of its dtype when it is set.
Names clip(Site& s) {
  const DType dtype = s.type(0).dtype;
  double least = s.attrs().real("a_min"), most = s.attrs().real("a_max");
  if (dtype.is_int()) {
    least = std::ceil(least);
    most = std::floor(most);
  }
  return {s.node("Clip", {s.arg(0), s.scalar(dtype, least), s.scalar(dtype, most)})};
}

Names cast(Site& s) {
  const DType from = s.type(0).dtype, to = s.result().dtype;
  for (DType d : {from, to}) {
    s.require(d.bits >= 8, "ONNX does not say how integers of 4 bits round and wrap");
    s.require(d.code != DTypeCode::kFloat8E4M3 && d.code != DTypeCode::kFloat8E5M2,
              "ONNX rounds to floats of 8 bits with other ends of their ranges");
  }
  return {s.cast(s.arg(0), from, to)};
}

Names leaky_relu(Site& s) { return {s.node("LeakyRelu", {s.arg(0)}, {{"alpha", s.attrs().real("alpha")}})}; }
// ONNX keeps the slope as a float32, and so does the arithmetic of dtypes up to that.
bool has_exact_slope(const CallAttrs& a, const Call& call) {
  return call.type->as<TensorType>()->dtype.bits <= 32 || fits_attribute(a.real("alpha"));
}

Names prelu(Site& s) {
  const size_t rank = s.type(0).rank();
  return {s.node("PRelu", {s.arg(0), s.along(s.arg(1), s.axis("axis", rank), rank)})};
}

Names bias_add(Site& s) {
  const size_t rank = s.type(0).rank();
  return {s.node("Add", {s.arg(0), s.along(s.arg(1), s.axis("axis", rank), rank)})};
}

Names where(Site& s) { return {s.node("Where", {s.arg(0), s.arg(1), s.arg(2)})}; }

constexpr Row kRows[] = {
    {"abs", unary<"Abs">},
    {"acos", unary<"Acos">},
    {"acosh", unary<"Acosh">},
    {"add", binary<"Add">},
    {"asin", unary<"Asin">},
    {"asinh", unary<"Asinh">},
    {"atan", unary<"Atan">},
    {"atanh", unary<"Atanh">},
    {"bitwise_and", bitwise<"BitwiseAnd", "And">},
    {"bitwise_not", bitwise_not},
    {"bitwise_or", bitwise<"BitwiseOr", "Or">},
    {"bitwise_xor", bitwise<"BitwiseXor", "Xor">},
    {"cast", cast},
    {"cast_like", cast},
    {"ceil", unary<"Ceil">},
    {"clip", clip},
    {"copy", unary<"Identity">},
    {"cos", unary<"Cos">},
    {"cosh", unary<"Cosh">},
    {"divide", binary<"Div">},
    {"equal", binary<"Equal">},
    {"erf", unary<"Erf">},
    {"exp", unary<"Exp">},
    {"floor", unary<"Floor">},
    {"floor_mod", floor_mod},
    {"greater", binary<"Greater">},
    {"greater_equal", binary<"GreaterOrEqual">},
    {"isfinite", is_finite},
    {"isinf", unary<"IsInf">},
    {"isnan", unary<"IsNaN">},
    {"left_shift", shift<"LEFT">},
    {"less", binary<"Less">},
    {"less_equal", binary<"LessOrEqual">},
    {"log", unary<"Log">},
    {"log10", logarithm<10>},
    {"log2", logarithm<2>},
    {"logical_and", binary<"And">},
    {"logical_not", unary<"Not">},
    {"logical_or", binary<"Or">},
    {"logical_xor", binary<"Xor">},
    {"maximum", binary<"Max">},
    {"minimum", binary<"Min">},
    {"mod", mod},
    {"multiply", binary<"Mul">},
    {"negative", unary<"Neg">},
    {"nn.bias_add", bias_add},
    {"nn.leaky_relu", leaky_relu, has_exact_slope},
    {"nn.prelu", prelu},
    {"nn.relu", unary<"Relu">},
    {"not_equal", not_binary<"Equal">},
    {"power", binary<"Pow">},
    {"right_shift", shift<"RIGHT">},
    {"round", unary<"Round">},
    {"rsqrt", rsqrt},
    {"sigmoid", unary<"Sigmoid">},
    {"sign", unary<"Sign">},
    {"sin", unary<"Sin">},
    {"sinh", unary<"Sinh">},
    {"sqrt", unary<"Sqrt">},
    {"subtract", binary<"Sub">},
    {"tan", unary<"Tan">},
    {"tanh", unary<"Tanh">},
    {"trunc_divide", binary<"Div">},
    {"where", where},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace relay::exporter
