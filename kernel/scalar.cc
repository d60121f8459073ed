#include "kernel/scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"

namespace relay::kernel::scalar {
namespace {

uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }
int64_t of_bits(uint64_t v) { return static_cast<int64_t>(v); }

template <class T>
T apply(Math fn, T a, T b) {
  switch (fn) {
    case Math::kExp: return std::exp(a);
    case Math::kExpm1: return std::expm1(a);
    case Math::kLog: return std::log(a);
    case Math::kLog2: return std::log2(a);
    case Math::kLog10: return std::log10(a);
    case Math::kLog1p: return std::log1p(a);
    case Math::kSqrt: return std::sqrt(a);
    case Math::kRsqrt: return T(1) / std::sqrt(a);
    case Math::kSin: return std::sin(a);
    case Math::kCos: return std::cos(a);
    case Math::kTan: return std::tan(a);
    case Math::kAsin: return std::asin(a);
    case Math::kAcos: return std::acos(a);
    case Math::kAtan: return std::atan(a);
    case Math::kSinh: return std::sinh(a);
    case Math::kCosh: return std::cosh(a);
    case Math::kTanh: return std::tanh(a);
    case Math::kAsinh: return std::asinh(a);
    case Math::kAcosh: return std::acosh(a);
    case Math::kAtanh: return std::atanh(a);
    case Math::kErf: return std::erf(a);
    case Math::kFloor: return std::floor(a);
    case Math::kCeil: return std::ceil(a);
    case Math::kTrunc: return std::trunc(a);
    case Math::kRound: return std::nearbyint(a);
    case Math::kAbs: return std::fabs(a);
    case Math::kPow: return std::pow(a, b);
    case Math::kFmod: return std::fmod(a, b);
    case Math::kAtan2: return std::atan2(a, b);
    case Math::kIsNan:
    case Math::kIsInf:
    case Math::kIsFinite: return T(0);  // these give booleans, see test()
  }
  return T(0);
}

int64_t divide(ExprKind kind, DType d, int64_t a, int64_t b) {
  if (b == 0) throw Trap(kDivisionByZero);
  if (d.is_unsigned_int()) {
    const bool quotient = kind == ExprKind::kFloorDiv || kind == ExprKind::kTruncDiv;
    return of_bits(quotient ? bits(a) / bits(b) : bits(a) % bits(b));
  }
  if (a == INT64_MIN && b == -1) throw Trap(kQuotientTooLarge);
  const int64_t q = a / b, r = a % b;
  const bool down = r != 0 && (r < 0) != (b < 0);
  switch (kind) {
    case ExprKind::kFloorDiv: return wrap(d, down ? q - 1 : q);
    case ExprKind::kFloorMod: return wrap(d, down ? r + b : r);
    case ExprKind::kTruncDiv: return wrap(d, q);
    default: return wrap(d, r);
  }
}

}  // namespace

int64_t wrapping_add(int64_t a, int64_t b) { return of_bits(bits(a) + bits(b)); }
int64_t wrapping_mul(int64_t a, int64_t b) { return of_bits(bits(a) * bits(b)); }

int64_t wrap(DType d, int64_t v) {
  if (d.is_bool()) return v != 0;
  if (d.bits >= 64) return v;
  const uint64_t low = bits(v) & ((uint64_t{1} << d.bits) - 1);
  const bool negative = d.is_signed_int() && ((low >> (d.bits - 1)) & 1);
  return negative ? of_bits(low) - (int64_t{1} << d.bits) : of_bits(low);
}

double round_to(DType d, double v) {
  if (d == kFloat64) return v;
  if (d == kFloat32) return static_cast<float>(v);
  return float_of_bits(d, bits_of_double(d, v));
}

int64_t to_integer(DType d, double v) { return d.is_bool() ? v != 0 : integer_of_real(d, v); }

double to_real(DType d, DType from, int64_t v) { return real_of_integer(d, from, v); }

int64_t binary(ExprKind kind, DType d, int64_t a, int64_t b) {
  const bool is_unsigned = d == kUInt64;
  const auto less = [&](int64_t x, int64_t y) { return is_unsigned ? bits(x) < bits(y) : x < y; };
  switch (kind) {
    case ExprKind::kAdd: return wrap(d, wrapping_add(a, b));
    case ExprKind::kSub: return wrap(d, of_bits(bits(a) - bits(b)));
    case ExprKind::kMul: return wrap(d, wrapping_mul(a, b));
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod: return divide(kind, d, a, b);
    case ExprKind::kMin: return less(b, a) ? b : a;
    case ExprKind::kMax: return less(a, b) ? b : a;
    case ExprKind::kBroadcast: return a == 1 ? b : a;
    case ExprKind::kBitAnd: return a & b;
    case ExprKind::kBitOr: return a | b;
    case ExprKind::kBitXor: return wrap(d, a ^ b);
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight:
      if (b < 0 || b >= d.bits) throw Trap(kShiftTooWide);
      if (kind == ExprKind::kShiftLeft) return wrap(d, of_bits(bits(a) << b));
      return d.is_unsigned_int() ? of_bits(bits(a) >> b) : a >> b;
    case ExprKind::kEqual: return a == b;
    case ExprKind::kNotEqual: return a != b;
    case ExprKind::kLess: return less(a, b);
    case ExprKind::kLessEqual: return !less(b, a);
    case ExprKind::kAnd: return a && b;
    case ExprKind::kOr: return a || b;
    default: throw std::logic_error(cat("no integer operation ", static_cast<int>(kind)));
  }
}

int64_t compare(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::kEqual: return a == b;
    case ExprKind::kNotEqual: return a != b;
    case ExprKind::kLess: return a < b;
    default: return a <= b;
  }
}

double least(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return b < a ? b : a;
}
double greatest(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return a < b ? b : a;
}

int64_t math(Math fn, DType d, int64_t a) {
  if (fn == Math::kAbs && d.is_signed_int() && a < 0) return wrap(d, of_bits(0 - bits(a)));
  return a;
}

int64_t test(Math fn, double a) {
  switch (fn) {
    case Math::kIsNan: return std::isnan(a);
    case Math::kIsInf: return std::isinf(a);
    default: return std::isfinite(a);
  }
}

double math(Math fn, DType d, double a, double b) {
  if (d == kFloat64) return apply<double>(fn, a, b);
  return round_to(d, apply<float>(fn, static_cast<float>(a), static_cast<float>(b)));
}

}  // namespace relay::kernel::scalar
