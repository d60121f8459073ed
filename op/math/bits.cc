// The bits of integers (see op/math/binary.h). Of booleans, the bitwise operators are
// the logical ones.
#include "base/failure.h"
#include "base/reasons.h"
#include "op/math/binary.h"

namespace relay::op {
namespace {

// --- Shifts -------------------------------------------------------------------

int64_t checked_shift(DType d, int64_t y) {
  if (y < 0 || y >= d.bits) throw Trap(kShiftTooWide);
  return y;
}
void require_shift(kernel::Builder& k, kernel::Expr y) {
  const DType d = y->dtype;
  if (d.is_signed_int()) k.require(less_equal(k.pool().integer(0, d), y), kShiftTooWide);
  k.require(less_equal(y, k.pool().integer(d.bits - 1, d)), kShiftTooWide);
}

}  // namespace

// bitwise_and(x, y) = x & y
const OpDef kBitwiseAnd = binary({
    .name = "bitwise_and",
    .doc = "The bits that are set in both.",
    .integer = [](DType, int64_t x, int64_t y) { return x & y; },
    .lower = [](kernel::Builder&, kernel::Expr x,
                kernel::Expr y) { return x->dtype.is_bool() ? logical_and(x, y) : bit_and(x, y); },
    .domain = Domain::kIntegerOrBool,
    .commutative = true,
    .not_differentiable = kOnIntegers,
});

// bitwise_or(x, y) = x | y
const OpDef kBitwiseOr = binary({
    .name = "bitwise_or",
    .doc = "The bits that are set in at least one.",
    .integer = [](DType, int64_t x, int64_t y) { return x | y; },
    .lower = [](kernel::Builder&, kernel::Expr x,
                kernel::Expr y) { return x->dtype.is_bool() ? logical_or(x, y) : bit_or(x, y); },
    .domain = Domain::kIntegerOrBool,
    .commutative = true,
    .not_differentiable = kOnIntegers,
});

// bitwise_xor(x, y) = x ^ y
const OpDef kBitwiseXor = binary({
    .name = "bitwise_xor",
    .doc = "The bits that are set in exactly one.",
    .integer = [](DType, int64_t x, int64_t y) { return x ^ y; },
    .lower = [](kernel::Builder&, kernel::Expr x,
                kernel::Expr y) { return x->dtype.is_bool() ? not_equal(x, y) : bit_xor(x, y); },
    .domain = Domain::kIntegerOrBool,
    .commutative = true,
    .not_differentiable = kOnIntegers,
});

// left_shift(x, y) = x * 2^y, of which the upper bits are lost
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

// right_shift(x, y) = floor(x / 2^y)
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
