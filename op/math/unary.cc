// Functions of one number, element by element.
//
//   (Tensor[s, d]) -> Tensor[s, d], or Tensor[s, bool] of isnan, isfinite and isinf
//   C1: d is <domain>.
//
// Floating-point functions are IEEE: outside of its domain a function gives NaN. Integers wrap.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/cat.h"
#include "op/bounds.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/term.h"

namespace relay::op {
namespace {

using kernel::Math;

struct Unary {
  std::string name, doc;
  double (*real)(double x) = nullptr;
  // On integers (and booleans, as 0 and 1); not needed where the domain has none.
  int64_t (*integer)(DType d, int64_t x) = nullptr;
  kernel::Expr (*lower)(kernel::Expr x) = nullptr;
  // dy/dx; no expression where it is zero.
  std::optional<Term> (*derivative)(Term x, Term y) = nullptr;
  Domain domain = Domain::kFloat;
  bool asks = false;  // the result is boolean
  Tolerance tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = 4};
  std::string not_differentiable = {};
};

constexpr Tolerance::Kind kExact = Tolerance::Kind::kExact;

OpDef unary(const Unary& u) {
  OpDef d = define<NoAttrs>({
      .name = u.name,
      .doc = u.doc,
      .params = {{"data", "the input"}},
      .fusion = Fusion::kElementwise,
      .tolerance = u.tolerance,
      .not_differentiable = u.not_differentiable,
  });
  if (!u.asks) d.relation = cat("Elementwise", u.domain == Domain::kNumber ? "" : family(u.domain));
  d.relate = [u](Relation& r, const Attrs& attrs) -> Type {
    read_attrs<NoAttrs>(attrs);
    require(r, 0, u.domain);  // C1
    const TensorType& x = r.tensor(0);
    return u.asks ? r.context().tensor_type(x.dims, kBool) : &x;
  };
  d.evaluate = [u](const Attrs&, Args in, Results out, Sums) {
    const Tensor& x = in[0];
    for (int64_t i = 0; i < x.size(); ++i) {
      if (x.dtype().is_float()) {
        out[0].set(i, u.real(x.get(i)));
      } else {
        out[0].set_int(i, u.integer(x.dtype(), x.get_int(i)));
      }
    }
  };
  d.lower = [u](kernel::Builder& k, const Attrs&, const Lowering& c) -> std::vector<kernel::Tensor> {
    return {
        k.compute(u.name, c.dtype(), c.shape(), [&](kernel::Indices i) { return u.lower(c.in[0].at(i)); })};
  };
  if (u.derivative) {
    d.differentiate = [u](Builder& b, const Attrs&, const Site& c) -> std::vector<Expr> {
      const std::optional<Term> slope = u.derivative(Term(b, c.args[0]), Term(b, c.y));
      return {slope ? (Term(b, c.dy) * *slope).e : nullptr};
    };
  }
  return d;
}

// Formulas of several steps are computed in float32 where the dtype is narrower: their parts
// may overflow it.
template <class F>
kernel::Expr widened(kernel::Expr x, const F& f) {
  return x->dtype.bits >= 32 ? f(x) : cast(x->dtype, f(cast(kFloat32, x)));
}

template <Math fn>
kernel::Expr lower_to(kernel::Expr x) {
  return x->dtype.is_float() ? math(fn, x) : x;  // the rounding functions leave integers as they are
}

int64_t unchanged(DType, int64_t x) { return x; }
std::optional<Term> zero(Term, Term) { return std::nullopt; }

// Two's complement: the negative of the least integer is itself.
int64_t wrapping_negative(DType, int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }

kernel::Expr constant(kernel::Expr like, double value) { return like->pool->constant(value, like->dtype); }

kernel::Expr lower_sign(kernel::Expr x) {
  const kernel::Expr zero = constant(x, 0), one = constant(x, 1);
  const kernel::Expr positive_or_zero =
      select(equal(x, zero), zero, x->dtype.is_float() ? x : one);  // x is NaN
  const kernel::Expr not_negative = select(less(zero, x), one, positive_or_zero);
  return x->dtype.is_unsigned_int() ? not_negative : select(less(x, zero), constant(x, -1), not_negative);
}

kernel::Expr lower_abs(kernel::Expr x) {
  if (x->dtype.is_float()) return math(Math::kAbs, x);
  return x->dtype.is_unsigned_int() ? x : select(less(x, constant(x, 0)), -x, x);
}

// exp(-|x|) never overflows: exp(-x) does below -88, where the result is still a number.
kernel::Expr lower_sigmoid(kernel::Expr x) {
  return widened(x, [](kernel::Expr v) {
    const kernel::Expr e = exp(-math(Math::kAbs, v)), one = constant(v, 1);
    return select(less(v, constant(v, 0)), e, one) / (one + e);
  });
}

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

kernel::Expr lower_bitwise_not(kernel::Expr x) {
  return x->dtype.is_bool() ? logical_not(x) : bit_xor(x, x->pool->integer(-1, x->dtype));
}

Term reciprocal(Term x) { return 1 / x; }
Term cosine(Term x) { return x.apply(kCos, {x}); }
Term square_root(Term x) { return x.apply(kSqrt, {x}); }
Term exponential(Term x) { return x.apply(kExp, {x}); }

using std::numbers::inv_sqrtpi;
using std::numbers::ln10;
using std::numbers::ln2;

constexpr auto kBooleanResult = "the result is boolean";

}  // namespace

// negative(x) = -x
const OpDef kNegative = unary({
    .name = "negative",
    .doc = "The number with the opposite sign.",
    .real = [](double x) { return -x; },
    .integer = wrapping_negative,
    .lower = [](kernel::Expr x) { return -x; },
    .derivative = [](Term x, Term) -> std::optional<Term> { return x.number(-1); },
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// abs(x) = |x|
const OpDef kAbs = unary({
    .name = "abs",
    .doc = "The absolute value; the least integer is its own.",
    .real = [](double x) { return std::fabs(x); },
    .integer = [](DType d, int64_t x) { return x < 0 && d.is_signed_int() ? wrapping_negative(d, x) : x; },
    .lower = lower_abs,
    .derivative = [](Term x, Term) -> std::optional<Term> { return x.apply(kSign, {x}); },
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// sign(x) = 1 where x > 0, -1 where x < 0, x elsewhere
const OpDef kSign = unary({
    .name = "sign",
    .doc = "-1, 0 or 1; NaN for NaN.",
    .real = sign,
    .integer = [](DType d, int64_t x) -> int64_t { return x < 0 && d.is_signed_int() ? -1 : x != 0; },
    .lower = lower_sign,
    .derivative = zero,
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// exp(x) = e^x
const OpDef kExp = unary({
    .name = "exp",
    .doc = "e to the power of the number.",
    .real = [](double x) { return std::exp(x); },
    .lower = lower_to<Math::kExp>,
    .derivative = [](Term, Term y) -> std::optional<Term> { return y; },
});

// log(x) = ln x
const OpDef kLog = unary({
    .name = "log",
    .doc = "The natural logarithm.",
    .real = [](double x) { return std::log(x); },
    .lower = lower_to<Math::kLog>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(x); },
});

// log2(x) = ln x / ln 2
const OpDef kLog2 = unary({
    .name = "log2",
    .doc = "The logarithm to base 2.",
    .real = [](double x) { return std::log2(x); },
    .lower = lower_to<Math::kLog2>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(ln2 * x); },
});

// log10(x) = ln x / ln 10
const OpDef kLog10 = unary({
    .name = "log10",
    .doc = "The logarithm to base 10.",
    .real = [](double x) { return std::log10(x); },
    .lower = lower_to<Math::kLog10>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(ln10 * x); },
});

// log1p(x) = ln(1 + x)
const OpDef kLog1p = unary({
    .name = "log1p",
    .doc = "The natural logarithm of one plus the number, precise near zero.",
    .real = [](double x) { return std::log1p(x); },
    .lower = lower_to<Math::kLog1p>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(x + 1); },
});

// sqrt(x) = x^(1/2)
const OpDef kSqrt = unary({
    .name = "sqrt",
    .doc = "The square root.",
    .real = [](double x) { return std::sqrt(x); },
    .lower = lower_to<Math::kSqrt>,
    .derivative = [](Term, Term y) -> std::optional<Term> { return 0.5 / y; },
    .tolerance = {.kind = Tolerance::Kind::kUlps, .ulps = kRoundedOnce},
});

// rsqrt(x) = x^(-1/2)
const OpDef kRsqrt = unary({
    .name = "rsqrt",
    .doc = "One over the square root.",
    .real = [](double x) { return 1 / std::sqrt(x); },
    .lower =
        [](kernel::Expr x) { return widened(x, [](kernel::Expr v) { return constant(v, 1) / sqrt(v); }); },
    .derivative = [](Term, Term y) -> std::optional<Term> { return -0.5 * (y * y * y); },
});

// sin(x) = x - x^3 / 3! + x^5 / 5! - ...
const OpDef kSin = unary({
    .name = "sin",
    .doc = "The sine of an angle in radians.",
    .real = [](double x) { return std::sin(x); },
    .lower = lower_to<Math::kSin>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return cosine(x); },
});

// cos(x) = 1 - x^2 / 2! + x^4 / 4! - ...
const OpDef kCos = unary({
    .name = "cos",
    .doc = "The cosine of an angle in radians.",
    .real = [](double x) { return std::cos(x); },
    .lower = lower_to<Math::kCos>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return -x.apply(kSin, {x}); },
});

// tan(x) = sin x / cos x
const OpDef kTan = unary({
    .name = "tan",
    .doc = "The tangent of an angle in radians.",
    .real = [](double x) { return std::tan(x); },
    .lower = lower_to<Math::kTan>,
    .derivative = [](Term, Term y) -> std::optional<Term> { return 1 + y * y; },
});

// asin(x) = the y in [-pi/2, pi/2] with sin y = x
const OpDef kAsin = unary({
    .name = "asin",
    .doc = "The angle in [-pi/2, pi/2] with this sine.",
    .real = [](double x) { return std::asin(x); },
    .lower = lower_to<Math::kAsin>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(square_root(1 - x * x)); },
});

// acos(x) = the y in [0, pi] with cos y = x
const OpDef kAcos = unary({
    .name = "acos",
    .doc = "The angle in [0, pi] with this cosine.",
    .real = [](double x) { return std::acos(x); },
    .lower = lower_to<Math::kAcos>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return -reciprocal(square_root(1 - x * x)); },
});

// atan(x) = the y in [-pi/2, pi/2] with tan y = x
const OpDef kAtan = unary({
    .name = "atan",
    .doc = "The angle in [-pi/2, pi/2] with this tangent.",
    .real = [](double x) { return std::atan(x); },
    .lower = lower_to<Math::kAtan>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(1 + x * x); },
});

// sinh(x) = (e^x - e^-x) / 2
const OpDef kSinh = unary({
    .name = "sinh",
    .doc = "The hyperbolic sine.",
    .real = [](double x) { return std::sinh(x); },
    .lower = lower_to<Math::kSinh>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return x.apply(kCosh, {x}); },
});

// cosh(x) = (e^x + e^-x) / 2
const OpDef kCosh = unary({
    .name = "cosh",
    .doc = "The hyperbolic cosine.",
    .real = [](double x) { return std::cosh(x); },
    .lower = lower_to<Math::kCosh>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return x.apply(kSinh, {x}); },
});

// tanh(x) = (e^x - e^-x) / (e^x + e^-x)
const OpDef kTanh = unary({
    .name = "tanh",
    .doc = "The hyperbolic tangent.",
    .real = [](double x) { return std::tanh(x); },
    .lower = lower_to<Math::kTanh>,
    .derivative = [](Term, Term y) -> std::optional<Term> { return 1 - y * y; },
});

// asinh(x) = ln(x + (x^2 + 1)^(1/2))
const OpDef kAsinh = unary({
    .name = "asinh",
    .doc = "The number with this hyperbolic sine.",
    .real = [](double x) { return std::asinh(x); },
    .lower = lower_to<Math::kAsinh>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(square_root(x * x + 1)); },
});

// acosh(x) = ln(x + (x^2 - 1)^(1/2))
const OpDef kAcosh = unary({
    .name = "acosh",
    .doc = "The number of at least 0 with this hyperbolic cosine.",
    .real = [](double x) { return std::acosh(x); },
    .lower = lower_to<Math::kAcosh>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(square_root(x * x - 1)); },
});

// atanh(x) = ln((1 + x) / (1 - x)) / 2
const OpDef kAtanh = unary({
    .name = "atanh",
    .doc = "The number with this hyperbolic tangent.",
    .real = [](double x) { return std::atanh(x); },
    .lower = lower_to<Math::kAtanh>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return reciprocal(1 - x * x); },
});

// sigmoid(x) = 1 / (1 + e^-x)
const OpDef kSigmoid = unary({
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)).",
    .real = sigmoid,
    .lower = lower_sigmoid,
    .derivative = [](Term, Term y) -> std::optional<Term> { return y * (1 - y); },
});

// erf(x) = 2 / pi^(1/2) * the integral of e^(-t^2) for t from 0 to x
const OpDef kErf = unary({
    .name = "erf",
    .doc = "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to the number.",
    .real = [](double x) { return std::erf(x); },
    .lower = lower_to<Math::kErf>,
    .derivative = [](Term x, Term) -> std::optional<Term> { return 2 * inv_sqrtpi * exponential(-(x * x)); },
});

// floor(x) = the largest integer n <= x
const OpDef kFloor = unary({
    .name = "floor",
    .doc = "The largest integer that is not above the number.",
    .real = [](double x) { return std::floor(x); },
    .integer = unchanged,
    .lower = lower_to<Math::kFloor>,
    .derivative = zero,
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// ceil(x) = the smallest integer n >= x
const OpDef kCeil = unary({
    .name = "ceil",
    .doc = "The smallest integer that is not below the number.",
    .real = [](double x) { return std::ceil(x); },
    .integer = unchanged,
    .lower = lower_to<Math::kCeil>,
    .derivative = zero,
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// round(x) = the integer n with the smallest |x - n|; of two, the even one
const OpDef kRound = unary({
    .name = "round",
    .doc = "The nearest integer; halfway between two, the even one.",
    .real = [](double x) { return std::nearbyint(x); },
    .integer = unchanged,
    .lower = lower_to<Math::kRound>,
    .derivative = zero,
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// trunc(x) = floor(x) where x > 0, ceil(x) elsewhere
const OpDef kTrunc = unary({
    .name = "trunc",
    .doc = "The integer part: rounds toward zero.",
    .real = [](double x) { return std::trunc(x); },
    .integer = unchanged,
    .lower = lower_to<Math::kTrunc>,
    .derivative = zero,
    .domain = Domain::kNumber,
    .tolerance = {kExact},
});

// logical_not(x) = not x
const OpDef kLogicalNot = unary({
    .name = "logical_not",
    .doc = "True where the input is false.",
    .integer = [](DType, int64_t x) -> int64_t { return !x; },
    .lower = [](kernel::Expr x) { return logical_not(x); },
    .domain = Domain::kBool,
    .tolerance = {kExact},
    .not_differentiable = kBooleanResult,
});

// bitwise_not(x) = ~x; of a boolean, not x
const OpDef kBitwiseNot = unary({
    .name = "bitwise_not",
    .doc = "Every bit turned over; of a boolean, its opposite.",
    .integer = [](DType d, int64_t x) -> int64_t { return d.is_bool() ? !x : ~x; },
    .lower = lower_bitwise_not,
    .domain = Domain::kIntegerOrBool,
    .tolerance = {kExact},
    .not_differentiable = "defined on integers",
});

// isnan(x) = (x != x)
const OpDef kIsNan = unary({
    .name = "isnan",
    .doc = "Whether the element is not a number.",
    .real = [](double x) -> double { return std::isnan(x); },
    .lower = lower_to<Math::kIsNan>,
    .asks = true,
    .tolerance = {kExact},
    .not_differentiable = kBooleanResult,
});

// isfinite(x) = (|x| < inf)
const OpDef kIsFinite = unary({
    .name = "isfinite",
    .doc = "Whether the element is neither infinite nor NaN.",
    .real = [](double x) -> double { return std::isfinite(x); },
    .lower = lower_to<Math::kIsFinite>,
    .asks = true,
    .tolerance = {kExact},
    .not_differentiable = kBooleanResult,
});

// isinf(x) = (|x| == inf)
const OpDef kIsInf = unary({
    .name = "isinf",
    .doc = "Whether the element is infinite, of either sign.",
    .real = [](double x) -> double { return std::isinf(x); },
    .lower = lower_to<Math::kIsInf>,
    .asks = true,
    .tolerance = {kExact},
    .not_differentiable = kBooleanResult,
});

}  // namespace relay::op
