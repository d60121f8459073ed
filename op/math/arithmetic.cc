// Arithmetic on two numbers (see op/math/binary.h). Integers wrap, and their divisions trap where
// there is no quotient. Floating point is IEEE; maximum and minimum give NaN if either operand is.
#include <cmath>
#include <string>
#include <utility>

#include "base/failure.h"
#include "base/reasons.h"
#include "op/bounds.h"
#include "op/math/binary.h"

namespace relay::op {
namespace {

using kernel::Math;

// --- Division -----------------------------------------------------------------

int64_t least(DType d) { return d.bits == 64 ? INT64_MIN : -(int64_t{1} << (d.bits - 1)); }

struct Division {
  int64_t quotient, remainder;  // toward zero
};
Division divide(DType d, int64_t x, int64_t y) {
  if (y == 0) throw Trap(kDivisionByZero);
  if (d.is_unsigned_int()) return {of_bits(bits(x) / bits(y)), of_bits(bits(x) % bits(y))};
  if (y == -1 && x == least(d)) throw Trap(kQuotientTooLarge);
  return {x / y, x % y};
}
bool rounds_up(DType d, int64_t remainder, int64_t y) {  // where truncation is above the floor
  return d.is_signed_int() && remainder != 0 && (remainder < 0) != (y < 0);
}
int64_t truncating_quotient(DType d, int64_t x, int64_t y) { return divide(d, x, y).quotient; }
int64_t truncating_remainder(DType d, int64_t x, int64_t y) { return divide(d, x, y).remainder; }
int64_t floor_quotient(DType d, int64_t x, int64_t y) {
  const Division q = divide(d, x, y);
  return rounds_up(d, q.remainder, y) ? q.quotient - 1 : q.quotient;
}
int64_t floor_remainder(DType d, int64_t x, int64_t y) {
  const Division q = divide(d, x, y);
  return rounds_up(d, q.remainder, y) ? q.remainder + y : q.remainder;
}

double rounded(DType d, double v) {
  Tensor t(d, {});
  t.set(0, v);
  return t.get(0);
}
// The quotient is rounded to the dtype before it is rounded down, as a machine does it.
double floor_quotient(DType d, double x, double y) { return std::floor(rounded(d, x / y)); }
double truncated_quotient(DType d, double x, double y) { return std::trunc(rounded(d, x / y)); }
// fmod is exact; what has the wrong sign is moved by one divisor.
double floor_remainder(DType, double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

void require_divisor(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  const DType d = x->dtype;
  k.require(not_equal(y, k.pool().integer(0, d)), kDivisionByZero);
  if (!d.is_signed_int()) return;
  const kernel::Expr overflows =
      logical_and(equal(x, k.pool().integer(least(d), d)), equal(y, k.pool().integer(-1, d)));
  k.require(logical_not(overflows), kQuotientTooLarge);
}

kernel::Expr lower_divide(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  if (x->dtype.is_float()) return x / y;
  require_divisor(k, x, y);
  return trunc_div(x, y);
}
kernel::Expr lower_trunc_divide(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  return x->dtype.is_float() ? math(Math::kTrunc, x / y) : lower_divide(k, x, y);
}
kernel::Expr lower_mod(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  if (x->dtype.is_float()) return math(Math::kFmod, x, y);
  require_divisor(k, x, y);
  return trunc_mod(x, y);
}
kernel::Expr lower_floor_divide(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  if (x->dtype.is_float()) return math(Math::kFloor, x / y);
  require_divisor(k, x, y);
  return floor_div(x, y);
}
kernel::Expr lower_floor_mod(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  if (x->dtype.is_float()) {
    const kernel::Expr r = math(Math::kFmod, x, y), zero = k.constant(x->dtype, 0);
    return select(logical_and(not_equal(r, zero), not_equal(less(r, zero), less(y, zero))), r + y, r);
  }
  require_divisor(k, x, y);
  return floor_mod(x, y);
}

// --- Order --------------------------------------------------------------------

double propagating_max(DType, double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : x < y ? y : x;
}
double propagating_min(DType, double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : y < x ? y : x;
}

Term floored_quotient(Term x, Term y) { return x.apply(kFloor, {x / y}); }
Term truncated_quotient(Term x, Term y) { return x.apply(kTrunc, {x / y}); }

// An operator of two names.
OpDef truncating_mod(std::string name, std::string doc) {
  return binary({
      .name = std::move(name),
      .doc = std::move(doc),
      .real = [](DType, double x, double y) { return std::fmod(x, y); },
      .integer = truncating_remainder,
      .lower = lower_mod,
      .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints {
        return {dz, -(dz * truncated_quotient(x, y))};
      },
      .effects = Effects::kTraps,
  });
}

}  // namespace

// add(x, y) = x + y
const OpDef kAdd = binary({
    .name = "add",
    .doc = "The sum of both operands.",
    .real = [](DType, double x, double y) { return x + y; },
    .integer = [](DType, int64_t x, int64_t y) { return of_bits(bits(x) + bits(y)); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return x + y; },
    .adjoints = [](Term, Term, Term, Term dz) -> Adjoints { return {dz, dz}; },
    .commutative = true,
    .ulps = kRoundedOnce,
});

// subtract(x, y) = x - y
const OpDef kSubtract = binary({
    .name = "subtract",
    .doc = "The left operand minus the right one.",
    .real = [](DType, double x, double y) { return x - y; },
    .integer = [](DType, int64_t x, int64_t y) { return of_bits(bits(x) - bits(y)); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return x - y; },
    .adjoints = [](Term, Term, Term, Term dz) -> Adjoints { return {dz, -dz}; },
    .ulps = kRoundedOnce,
});

// multiply(x, y) = x * y
const OpDef kMultiply = binary({
    .name = "multiply",
    .doc = "The product.",
    .real = [](DType, double x, double y) { return x * y; },
    .integer = [](DType, int64_t x, int64_t y) { return of_bits(bits(x) * bits(y)); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return x * y; },
    .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints { return {dz * y, dz * x}; },
    .commutative = true,
    .ulps = kRoundedOnce,
});

// divide(x, y) = x / y; of integers, trunc(x / y)
const OpDef kDivide = binary({
    .name = "divide",
    .doc = "The quotient; of integers, truncated toward zero.",
    .real = [](DType, double x, double y) { return x / y; },
    .integer = truncating_quotient,
    .lower = lower_divide,
    .adjoints = [](Term, Term y, Term z, Term dz) -> Adjoints { return {dz / y, -(dz * z / y)}; },
    .effects = Effects::kTraps,
    .ulps = kRoundedOnce,
});

// floor_divide(x, y) = floor(x / y)
const OpDef kFloorDivide = binary({
    .name = "floor_divide",
    .doc = "The quotient, rounded down.",
    .real = floor_quotient,
    .integer = floor_quotient,
    .lower = lower_floor_divide,
    .adjoints = [](Term, Term, Term, Term) -> Adjoints { return {}; },
    .effects = Effects::kTraps,
});

// trunc_divide(x, y) = trunc(x / y)
const OpDef kTruncDivide = binary({
    .name = "trunc_divide",
    .doc = "The quotient, rounded toward zero.",
    .real = truncated_quotient,
    .integer = truncating_quotient,
    .lower = lower_trunc_divide,
    .adjoints = [](Term, Term, Term, Term) -> Adjoints { return {}; },
    .effects = Effects::kTraps,
});

// mod(x, y) = x - y * trunc(x / y)
const OpDef kMod =
    truncating_mod("mod", "What remains of a division that truncates; it has the sign of the left operand.");

// trunc_mod(x, y) = x - y * trunc(x / y)
const OpDef kTruncMod = truncating_mod("trunc_mod", "The same as `mod`.");

// floor_mod(x, y) = x - y * floor(x / y)
const OpDef kFloorMod = binary({
    .name = "floor_mod",
    .doc = "What remains of a division that rounds down; it has the sign of the right operand.",
    .real = floor_remainder,
    .integer = floor_remainder,
    .lower = lower_floor_mod,
    .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints {
      return {dz, -(dz * floored_quotient(x, y))};
    },
    .effects = Effects::kTraps,
});

// power(x, y) = x^y
const OpDef kPower = binary({
    .name = "power",
    .doc = "The left operand to the power of the right one.",
    .real = [](DType, double x, double y) { return std::pow(x, y); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return math(Math::kPow, x, y); },
    .adjoints = [](Term x, Term y, Term z, Term dz) -> Adjoints {
      const Term zero = x.number(0), one = x.number(1);
      const auto is_zero = [&](Term v) { return v.apply(kEqual, {v, zero}); };
      // The slope of x^0 is 0, and 0 * 0^-1 is NaN. The exponent is asked first: it is mostly a
      // constant, so that the condition folds.
      const Term base = where(is_zero(y), where(is_zero(x), one, x), x);
      const Term dx = dz * y * base.apply(kPower, {base, y - 1});
      // Where the base is not positive the power has no derivative by its exponent; 0 keeps
      // NaN out of the sum.
      const Term positive = less(zero, x), safe = where(positive, x, one);
      return {dx, where(positive, dz * z, zero) * safe.apply(kLog, {safe})};
    },
    .domain = Domain::kFloat,
    .ulps = 4,
});

// maximum(x, y) = x where x >= y, y elsewhere; NaN if either is
const OpDef kMaximum = binary({
    .name = "maximum",
    .doc = "The larger one.",
    .real = propagating_max,
    .integer = [](DType d, int64_t x, int64_t y) { return integer_less(d, x, y) ? y : x; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return max(x, y); },
    .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints {
      return {where(less(x, y), dz.number(0), dz), where(less(x, y), dz, dz.number(0))};
    },
});

// minimum(x, y) = x where x <= y, y elsewhere; NaN if either is
const OpDef kMinimum = binary({
    .name = "minimum",
    .doc = "The smaller one.",
    .real = propagating_min,
    .integer = [](DType d, int64_t x, int64_t y) { return integer_less(d, y, x) ? y : x; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return min(x, y); },
    .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints {
      return {where(less(y, x), dz.number(0), dz), where(less(y, x), dz, dz.number(0))};
    },
});

}  // namespace relay::op
