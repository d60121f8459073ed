#include "frontend/onnx/bits.h"

#include <cmath>

namespace relay::frontend {
namespace {

using namespace op;

// A floating format, and what is computed in to find its bits.
struct Format {
  int exponent, mantissa;
  DType real;     // holds every number of the format, and its integers up to 2^(mantissa + 1)
  DType integer;  // of the format's width, with a sign
  DType wide;     // an integer in which no step is out of range

  int bias() const { return (1 << (exponent - 1)) - 1; }
  int64_t infinity() const { return int64_t{(1 << exponent) - 1} << mantissa; }
};

Format format_of(DType d) {
  if (d == kFloat64) return {11, 52, kFloat64, kInt64, kInt64};
  if (d == kFloat32) return {8, 23, kFloat32, kInt32, kInt64};
  if (d == kBFloat16) return {8, 7, kFloat32, kInt16, kInt64};
  return {5, 10, kFloat32, kInt16, kInt64};
}

}  // namespace

Expr bits_of(Node& n, Expr numbers) {
  const Format f = format_of(type_of(numbers).dtype);
  const auto real = [&](double v) { return n.scalar(f.real, v); };
  const auto whole = [&](int64_t v) -> Expr { return n.builder().constant(Tensor::scalar_int(f.wide, v)); };
  const Expr x = n.cast(numbers, f.real), zero = real(0);
  // The magnitude is m * 2^steps, and m is below the second power of two that is not denormal.
  Expr m = n.call(kAbs, {x}), steps = n.cast(n.call(kZerosLike, {x}), f.wide);
  const int least = 1 - f.bias();  // 2^least is the smallest number that is not denormal
  for (int bit = f.exponent - 1; bit >= 0; --bit) {
    const int k = 1 << bit;
    const Expr large = n.call(kGreaterEqual, {m, real(std::ldexp(1.0, least + k))});
    // A power of two may need two factors.
    const Expr less = n.call(kMultiply, {n.call(kMultiply, {m, real(std::ldexp(1.0, -k / 2))}),
                                         real(std::ldexp(1.0, -(k - k / 2)))});
    m = n.call(kWhere, {large, less, m});
    steps = n.call(kWhere, {large, n.call(kAdd, {steps, whole(k)}), steps});
  }
  const int up = f.mantissa - least;  // from the unit of denormal numbers to 1
  m = n.call(kMultiply,
             {n.call(kMultiply, {m, real(std::ldexp(1.0, up / 2))}), real(std::ldexp(1.0, up - up / 2))});
  const Expr infinite = n.call(kIsInf, {x}), nan = n.call(kIsNan, {x});
  const Expr safe = n.call(kWhere, {n.call(kLogicalOr, {infinite, nan}), zero, m});
  Expr bits = n.call(kAdd, {n.cast(safe, f.wide), n.call(kLeftShift, {steps, whole(f.mantissa)})});
  bits = n.call(kWhere, {infinite, whole(f.infinity()), bits});
  const Expr below =
      n.call(kLess, {n.call(kWhere, {n.call(kEqual, {x, zero}), n.call(kDivide, {real(1), x}), x}), zero});
  const Expr sign = whole(f.wide.bits == f.integer.bits ? INT64_MIN : -(int64_t{1} << (f.integer.bits - 1)));
  bits = n.call(kWhere, {below, n.call(kAdd, {bits, sign}), bits});
  const Expr quiet = whole(f.infinity() + (int64_t{1} << (f.mantissa - 1)));
  return n.cast(n.call(kWhere, {nan, quiet, bits}), f.integer);
}

Expr float_of(Node& n, Expr patterns, DType dtype) {
  const Format f = format_of(dtype);
  const auto real = [&](double v) { return n.scalar(f.real, v); };
  const auto whole = [&](int64_t v) -> Expr { return n.builder().constant(Tensor::scalar_int(f.wide, v)); };
  const auto masked = [&](Expr e, int64_t ones) { return n.call(kBitwiseAnd, {e, whole(ones)}); };
  const Expr bits = n.cast(n.cast(patterns, f.integer), f.wide);
  const Expr fraction = masked(bits, (int64_t{1} << f.mantissa) - 1);
  const Expr exponent =
      masked(n.call(kRightShift, {bits, whole(f.mantissa)}), (int64_t{1} << f.exponent) - 1);
  const Expr denormal = n.call(kEqual, {exponent, whole(0)});
  const Expr digits =
      n.call(kAdd, {fraction, n.call(kWhere, {denormal, whole(0), whole(int64_t{1} << f.mantissa)})});
  // As if the number had the exponent of denormal ones; then doubled as often as it is larger.
  const int down = f.mantissa + f.bias() - 1;
  Expr v = n.call(kMultiply, {n.call(kMultiply, {n.cast(digits, f.real), real(std::ldexp(1.0, -(down / 2)))}),
                              real(std::ldexp(1.0, -(down - down / 2)))});
  const Expr doublings = n.call(kSubtract, {n.call(kMaximum, {exponent, whole(1)}), whole(1)});
  for (int bit = 0; bit < f.exponent; ++bit) {
    const int k = 1 << bit;
    const Expr more = n.call(
        kMultiply, {n.call(kMultiply, {v, real(std::ldexp(1.0, k / 2))}), real(std::ldexp(1.0, k - k / 2))});
    v = n.call(kWhere, {n.call(kEqual, {masked(doublings, k), whole(0)}), v, more});
  }
  const Expr special = n.call(kEqual, {exponent, whole((1 << f.exponent) - 1)});
  const Expr beyond = n.call(kWhere, {n.call(kEqual, {fraction, whole(0)}), real(INFINITY), real(NAN)});
  v = n.call(kWhere, {special, beyond, v});
  const Expr negative = n.call(kLess, {bits, whole(0)});
  return n.cast(n.call(kWhere, {negative, n.call(kNegative, {v}), v}), dtype);
}

}  // namespace relay::frontend
