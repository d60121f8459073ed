// qnn.rescale(q, multiplier, shift, zero)[i] = saturate(round(q[i] * multiplier / 2^shift) + zero)
//
//   (Tensor[s, d]) -> Tensor[s, out_dtype]
//   C1: d is int8, uint8, int16, uint16 or int32.   C2: multiplier is in [1, 2^31).
//   C3: shift is in [0, 62].
//   C4: rounding is "UPWARD" (halves up), "DOWNWARD" (everything down), "TONEAREST" (halves away
//       from zero) or "TOEVEN" (halves to even).
//   C5: out_dtype is int8, uint8, int16, uint16 or int32.   C6: zero_point is in the range of that.
//
// Integers alone, and exact: the product fits 62 bits and a sign. With the multiplier 1 it is a
// shift that rounds. A fixed-point factor of 31 bits, m * 2^(e - 31), is the multiplier m with
// the shift 31 - e.
#include "op/qnn/rescale.h"

#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "op/math/binary.h"
#include "op/qnn/common.h"

namespace relay::op {
namespace {

enum class Rounding : uint8_t { kUp, kDown, kAway, kEven };

std::optional<Rounding> read_rounding(std::string_view text) {
  if (text == "UPWARD") return Rounding::kUp;
  if (text == "DOWNWARD") return Rounding::kDown;
  if (text == "TONEAREST") return Rounding::kAway;
  if (text == "TOEVEN") return Rounding::kEven;
  return std::nullopt;
}

bool is_rescaled(DType d) { return is_narrow_integer(d) || d == kInt32; }

Type relate(Relation& r, const RescaleAttrs& a) {
  r.require(is_rescaled(r.tensor(0).dtype), 0, "expected int8, uint8, int16, uint16 or int32");  // C1
  r.require(a.multiplier >= 1 && a.multiplier < int64_t{1} << 31, kAttributes,
            "multiplier must be at least 1 and less than 2^31");                                     // C2
  r.require(a.shift >= 0 && a.shift <= 62, kAttributes, "shift must be at least 0 and at most 62");  // C3
  r.require(read_rounding(a.rounding).has_value(), kAttributes,
            cat("rounding must be UPWARD, DOWNWARD, TONEAREST or TOEVEN, not `", a.rounding, "`"));  // C4
  r.require(is_rescaled(a.out_dtype), kAttributes,
            "out_dtype must be int8, uint8, int16, uint16 or int32");  // C5
  const IntegerRange range = range_of(a.out_dtype);
  r.require(range.low <= a.zero_point && a.zero_point <= range.high, kAttributes,
            cat("zero_point must be an integer of ", a.out_dtype.name()));  // C6
  return r.context().tensor_type(r.tensor(0).dims, a.out_dtype);
}

// round(p / 2^shift). A shift of the sum rounds down, so each rounding is an addition before it.
int64_t rounded(int64_t p, int64_t shift, Rounding rounding) {
  if (shift == 0) return p;
  const int64_t half = int64_t{1} << (shift - 1);
  switch (rounding) {
    case Rounding::kUp: return (p + half) >> shift;
    case Rounding::kDown: return p >> shift;
    case Rounding::kAway: return (p + half - (p < 0 ? 1 : 0)) >> shift;
    case Rounding::kEven: return (p + half - 1 + ((p >> shift) & 1)) >> shift;
  }
  return p;
}

// The same in a kernel.
kernel::Expr rounded(kernel::Builder& k, kernel::Expr p, int64_t shift, Rounding rounding) {
  if (shift == 0) return p;
  const int64_t half = int64_t{1} << (shift - 1);
  const auto number = [&](int64_t v) { return k.pool().integer(v, kInt64); };
  const auto down = [&](kernel::Expr e) { return shift_right(e, number(shift)); };
  switch (rounding) {
    case Rounding::kUp: return down(p + number(half));
    case Rounding::kDown: return down(p);
    case Rounding::kAway: return down(p + select(less(p, number(0)), number(half - 1), number(half)));
    case Rounding::kEven: return down(p + number(half - 1) + bit_and(down(p), number(1)));
  }
  return p;
}

void evaluate(const RescaleAttrs& a, Args in, Results out) {
  const Rounding rounding = *read_rounding(a.rounding);
  const IntegerRange range = range_of(a.out_dtype);
  for (int64_t i = 0; i < in[0].size(); ++i) {
    const int64_t moved = rounded(in[0].get_int(i) * a.multiplier, a.shift, rounding) + a.zero_point;
    out[0].set_int(i, std::clamp(moved, range.low, range.high));
  }
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const RescaleAttrs& a, const Lowering& c) {
  const Rounding rounding = *read_rounding(a.rounding);
  const IntegerRange range = range_of(a.out_dtype);
  const auto number = [&](int64_t v) { return k.pool().integer(v, kInt64); };
  return {k.compute("rescale", a.out_dtype, c.shape(), [&](kernel::Indices i) {
    const kernel::Expr product = cast(kInt64, c.in[0].at(i)) * number(a.multiplier);
    const kernel::Expr moved = rounded(k, product, a.shift, rounding) + number(a.zero_point);
    return cast(a.out_dtype, min(max(moved, number(range.low)), number(range.high)));
  })};
}

}  // namespace

const OpDef kQnnRescale = define<RescaleAttrs>({
    .name = "qnn.rescale",
    .doc = "Integers times a fraction whose denominator is a power of two, rounded and saturated.",
    .params = {{"data", "integers, such as sums of products"}},
    .fusion = Fusion::kElementwise,
    .not_differentiable = kOnIntegers,
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

}  // namespace relay::op
