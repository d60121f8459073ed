// Functions of two numbers, element by element, with broadcasting.
//
//   (Tensor[s, d], Tensor[t, d]) -> Tensor[broadcast(s, t), d], or bool for the comparisons
//   C1: both have the dtype d.   C2: s and t broadcast.   C3: d is in the operator's domain.
//
// Integers wrap. Floating point is IEEE; maximum and minimum give NaN if either is NaN.
#include <cmath>

#include "base/failure.h"
#include "op/broadcast.h"
#include "op/define.h"
#include "op/domain.h"
#include "op/term.h"

namespace relay::op {
namespace {

using kernel::Math;

struct Adjoints {
  std::optional<Term> x, y;  // of the shape of the result; nothing where it is zero
};

struct Binary {
  std::string name, doc;
  double (*real)(DType d, double x, double y) = nullptr;
  // On integers (and booleans, as 0 and 1); an unsigned 64-bit integer comes by its bits. The result wraps.
  int64_t (*integer)(DType d, int64_t x, int64_t y) = nullptr;
  kernel::Expr (*lower)(kernel::Builder& k, kernel::Expr x, kernel::Expr y) = nullptr;
  Adjoints (*adjoints)(Term x, Term y, Term z, Term dz) = nullptr;
  Domain domain = Domain::kNumber;
  bool asks = false;  // the result is boolean
  Effects effects = Effects::kNone;
  double ulps = 0;  // 0: exact
  std::string not_differentiable = {};
};

OpDef binary(const Binary& f) {
  OpDef d = define<NoAttrs>({
      .name = f.name,
      .doc = f.doc,
      .params = {{"lhs", "the left operand"}, {"rhs", "the right operand"}},
      .effects = f.effects,
      .fusion = Fusion::kBroadcast,
      .tolerance = {.kind = f.ulps > 0 ? Tolerance::Kind::kUlps : Tolerance::Kind::kExact, .ulps = f.ulps},
      .not_differentiable = f.not_differentiable,
  });
  d.relate = [f](Relation& r, const Attrs&) -> Type {
    const TensorType &x = r.tensor(0), &y = r.tensor(1);
    r.require_same_dtype(1, 0);                                       // C1
    const std::vector<Dim> dims = r.broadcast(x.dims, y.dims, 0, 1);  // C2
    require(r, 0, f.domain);                                          // C3
    return r.tensor_of(dims, f.asks ? kBool : x.dtype);
  };
  d.evaluate = [f](const Attrs&, Args in, Results out) {
    const Tensor &x = in[0], &y = in[1];
    Tensor& z = out[0];
    const std::vector<int64_t> i = broadcast_elements(x.shape(), z.shape()),
                               j = broadcast_elements(y.shape(), z.shape());
    for (int64_t n = 0; n < z.size(); ++n) {
      const auto at = static_cast<size_t>(n);
      if (x.dtype().is_float()) {
        z.set(n, f.real(x.dtype(), x.get(i[at]), y.get(j[at])));
      } else {
        z.set_int(n, f.integer(x.dtype(), x.get_int(i[at]), y.get_int(j[at])));
      }
    }
  };
  d.lower = [f](kernel::Builder& k, const Attrs&, const Lowering& c) -> std::vector<kernel::Tensor> {
    const std::vector<kernel::Expr> shape = c.shape();
    return {k.compute(f.name, c.dtype(), shape, [&](kernel::Indices i) {
      for (const kernel::Tensor& x : c.in) require_broadcast(k, x, shape);
      return f.lower(k, broadcast_at(c.in[0], i, shape), broadcast_at(c.in[1], i, shape));
    })};
  };
  if (f.adjoints) {
    d.differentiate = [f](Builder& b, const Attrs&, const Site& c) -> std::vector<Expr> {
      const Adjoints a = f.adjoints(Term(b, c.args[0]), Term(b, c.args[1]), Term(b, c.y), Term(b, c.dy));
      return {a.x ? collapse_to(b, *a.x, c.args[0]) : nullptr,
              a.y ? collapse_to(b, *a.y, c.args[1]) : nullptr};
    };
  }
  return d;
}

uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }
int64_t of_bits(uint64_t v) { return static_cast<int64_t>(v); }

// --- Division -----------------------------------------------------------------

constexpr auto kByZero = "integer division by zero";
constexpr auto kTooLarge = "integer quotient does not fit";

int64_t least(DType d) { return d.bits == 64 ? INT64_MIN : -(int64_t{1} << (d.bits - 1)); }

struct Division {
  int64_t quotient, remainder;  // toward zero
};
Division divide(DType d, int64_t x, int64_t y) {
  if (y == 0) throw Trap(kByZero);
  if (d.is_unsigned_int()) return {of_bits(bits(x) / bits(y)), of_bits(bits(x) % bits(y))};
  if (y == -1 && x == least(d)) throw Trap(kTooLarge);
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
// fmod is exact; what has the wrong sign is moved by one divisor.
double floor_remainder(DType, double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

void require_divisor(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  const DType d = x->dtype;
  k.require(not_equal(y, k.pool().integer(0, d)), kByZero);
  if (!d.is_signed_int()) return;
  const kernel::Expr overflows =
      logical_and(equal(x, k.pool().integer(least(d), d)), equal(y, k.pool().integer(-1, d)));
  k.require(logical_not(overflows), kTooLarge);
}

kernel::Expr lower_divide(kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
  if (x->dtype.is_float()) return x / y;
  require_divisor(k, x, y);
  return trunc_div(x, y);
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

// --- Shifts -------------------------------------------------------------------

constexpr auto kTooWide = "shift by at least the width";

int64_t checked_shift(DType d, int64_t y) {
  if (y < 0 || y >= d.bits) throw Trap(kTooWide);
  return y;
}
void require_shift(kernel::Builder& k, kernel::Expr y) {
  const DType d = y->dtype;
  if (d.is_signed_int()) k.require(less_equal(k.pool().integer(0, d), y), kTooWide);
  k.require(less_equal(y, k.pool().integer(d.bits - 1, d)), kTooWide);
}

// --- Order --------------------------------------------------------------------

bool integer_less(DType d, int64_t x, int64_t y) { return d.is_signed_int() ? x < y : bits(x) < bits(y); }

double propagating_max(DType, double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : x < y ? y : x;
}
double propagating_min(DType, double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : y < x ? y : x;
}

Term floored_quotient(Term x, Term y) { return x.apply(kFloor, {x / y}); }
Term truncated_quotient(Term x, Term y) { return x.apply(kTrunc, {x / y}); }

constexpr auto kBooleanResult = "the result is boolean";
constexpr auto kOnIntegers = "defined on integers";

}  // namespace

const OpDef kAdd = binary({
    .name = "add",
    .doc = "The sum.",
    .real = [](DType, double x, double y) { return x + y; },
    .integer = [](DType, int64_t x, int64_t y) { return of_bits(bits(x) + bits(y)); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return x + y; },
    .adjoints = [](Term, Term, Term, Term dz) -> Adjoints {
      return {dz, dz};
    },
    .ulps = 1,
});

const OpDef kSubtract = binary({
    .name = "subtract",
    .doc = "The left operand minus the right one.",
    .real = [](DType, double x, double y) { return x - y; },
    .integer = [](DType, int64_t x, int64_t y) { return of_bits(bits(x) - bits(y)); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return x - y; },
    .adjoints = [](Term, Term, Term, Term dz) -> Adjoints {
      return {dz, -dz};
    },
    .ulps = 1,
});

const OpDef kMultiply = binary({
    .name = "multiply",
    .doc = "The product.",
    .real = [](DType, double x, double y) { return x * y; },
    .integer = [](DType, int64_t x, int64_t y) { return of_bits(bits(x) * bits(y)); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return x * y; },
    .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints {
      return {dz * y, dz * x};
    },
    .ulps = 1,
});

const OpDef kDivide = binary({
    .name = "divide",
    .doc = "The quotient; of integers, truncated toward zero.",
    .real = [](DType, double x, double y) { return x / y; },
    .integer = truncating_quotient,
    .lower = lower_divide,
    .adjoints = [](Term, Term y, Term z, Term dz) -> Adjoints {
      return {dz / y, -(dz * z / y)};
    },
    .effects = Effects::kTraps,
    .ulps = 1,
});

const OpDef kFloorDivide = binary({
    .name = "floor_divide",
    .doc = "The quotient, rounded down.",
    .real = floor_quotient,
    .integer = floor_quotient,
    .lower = lower_floor_divide,
    .adjoints = [](Term, Term, Term, Term) -> Adjoints { return {}; },
    .effects = Effects::kTraps,
});

const OpDef kMod = binary({
    .name = "mod",
    .doc = "What remains of a division that truncates; it has the sign of the left operand.",
    .real = [](DType, double x, double y) { return std::fmod(x, y); },
    .integer = truncating_remainder,
    .lower = lower_mod,
    .adjoints = [](Term x, Term y, Term, Term dz) -> Adjoints {
      return {dz, -(dz * truncated_quotient(x, y))};
    },
    .effects = Effects::kTraps,
});

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

const OpDef kPower = binary({
    .name = "power",
    .doc = "The left operand to the power of the right one.",
    .real = [](DType, double x, double y) { return std::pow(x, y); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return math(Math::kPow, x, y); },
    .adjoints = [](Term x, Term y, Term z, Term dz) -> Adjoints {
      // Where the base is not positive the power has no derivative by its exponent; 0 keeps NaN out of the sum.
      const Term log = where(less(x.number(0), x), x.apply(kLog, {x}), x.number(0));
      return {dz * y * x.apply(kPower, {x, y - 1}), dz * z * log};
    },
    .domain = Domain::kFloat,
    .ulps = 4,
});

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

const OpDef kEqual = binary({
    .name = "equal",
    .doc = "Whether both are the same; NaN never is.",
    .real = [](DType, double x, double y) -> double { return x == y; },
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x == y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return equal(x, y); },
    .domain = Domain::kAny,
    .asks = true,
    .not_differentiable = kBooleanResult,
});

const OpDef kNotEqual = binary({
    .name = "not_equal",
    .doc = "Whether both differ; NaN always does.",
    .real = [](DType, double x, double y) -> double { return x != y; },
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x != y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return not_equal(x, y); },
    .domain = Domain::kAny,
    .asks = true,
    .not_differentiable = kBooleanResult,
});

const OpDef kLess = binary({
    .name = "less",
    .doc = "Whether the left operand is below the right one.",
    .real = [](DType, double x, double y) -> double { return x < y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return integer_less(d, x, y); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less(x, y); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

const OpDef kLessEqual = binary({
    .name = "less_equal",
    .doc = "Whether the left operand is at most the right one.",
    .real = [](DType, double x, double y) -> double { return x <= y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return !integer_less(d, y, x); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less_equal(x, y); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

const OpDef kGreater = binary({
    .name = "greater",
    .doc = "Whether the left operand is above the right one.",
    .real = [](DType, double x, double y) -> double { return x > y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return integer_less(d, y, x); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less(y, x); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

const OpDef kGreaterEqual = binary({
    .name = "greater_equal",
    .doc = "Whether the left operand is at least the right one.",
    .real = [](DType, double x, double y) -> double { return x >= y; },
    .integer = [](DType d, int64_t x, int64_t y) -> int64_t { return !integer_less(d, x, y); },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return less_equal(y, x); },
    .asks = true,
    .not_differentiable = kBooleanResult,
});

const OpDef kLogicalAnd = binary({
    .name = "logical_and",
    .doc = "Whether both are true.",
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x && y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return logical_and(x, y); },
    .domain = Domain::kBool,
    .not_differentiable = kBooleanResult,
});

const OpDef kLogicalOr = binary({
    .name = "logical_or",
    .doc = "Whether at least one is true.",
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x || y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return logical_or(x, y); },
    .domain = Domain::kBool,
    .not_differentiable = kBooleanResult,
});

const OpDef kLogicalXor = binary({
    .name = "logical_xor",
    .doc = "Whether exactly one is true.",
    .integer = [](DType, int64_t x, int64_t y) -> int64_t { return x != y; },
    .lower = [](kernel::Builder&, kernel::Expr x, kernel::Expr y) { return not_equal(x, y); },
    .domain = Domain::kBool,
    .not_differentiable = kBooleanResult,
});

const OpDef kBitwiseAnd = binary({
    .name = "bitwise_and",
    .doc = "The bits that are set in both.",
    .integer = [](DType, int64_t x, int64_t y) { return x & y; },
    .lower = [](kernel::Builder&, kernel::Expr x,
                kernel::Expr y) { return x->dtype.is_bool() ? logical_and(x, y) : bit_and(x, y); },
    .domain = Domain::kIntegerOrBool,
    .not_differentiable = kOnIntegers,
});

const OpDef kBitwiseOr = binary({
    .name = "bitwise_or",
    .doc = "The bits that are set in at least one.",
    .integer = [](DType, int64_t x, int64_t y) { return x | y; },
    .lower = [](kernel::Builder&, kernel::Expr x,
                kernel::Expr y) { return x->dtype.is_bool() ? logical_or(x, y) : bit_or(x, y); },
    .domain = Domain::kIntegerOrBool,
    .not_differentiable = kOnIntegers,
});

const OpDef kBitwiseXor = binary({
    .name = "bitwise_xor",
    .doc = "The bits that are set in exactly one.",
    .integer = [](DType, int64_t x, int64_t y) { return x ^ y; },
    .lower = [](kernel::Builder&, kernel::Expr x,
                kernel::Expr y) { return x->dtype.is_bool() ? not_equal(x, y) : bit_xor(x, y); },
    .domain = Domain::kIntegerOrBool,
    .not_differentiable = kOnIntegers,
});

const OpDef kLeftShift = binary({
    .name = "left_shift",
    .doc = "The bits moved up; a shift by a negative number or by at least the width traps.",
    .integer = [](DType d, int64_t x, int64_t y) { return of_bits(bits(x) << checked_shift(d, y)); },
    .lower =
        [](kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
          require_shift(k, y);
          return shift_left(x, y);
        },
    .domain = Domain::kInteger,
    .effects = Effects::kTraps,
    .not_differentiable = kOnIntegers,
});

const OpDef kRightShift = binary({
    .name = "right_shift",
    .doc = "The bits moved down, keeping the sign; a shift by a negative "
           "number or by at least the width traps.",
    .integer =
        [](DType d, int64_t x, int64_t y) {
          const int64_t shift = checked_shift(d, y);
          return d.is_unsigned_int() ? of_bits(bits(x) >> shift) : x >> shift;
        },
    .lower =
        [](kernel::Builder& k, kernel::Expr x, kernel::Expr y) {
          require_shift(k, y);
          return shift_right(x, y);
        },
    .domain = Domain::kInteger,
    .effects = Effects::kTraps,
    .not_differentiable = kOnIntegers,
});

}  // namespace relay::op
