// Integers times factors in fixed point.
//
//   fixed_point_multiply(q, multiplier, shift)[i] = floor(q[i] * multiplier / 2^(31 - shift) + 1/2)
//   fixed_point_multiply_per_axis(q, m, l, r)[i] = floor(q[i] * m[j] / 2^(31 - l[j] + r[j]) + 1/2),
//       where j are those of the indices i that belong to `axes`
//
// The quotient is exact and rounded once, halves up. The result wraps. l and r count as 0 where
// is_lshift_required or is_rshift_required is False. A shift that counts traps if it is not in
// [0, 31].
#include "base/cat.h"
#include "base/failure.h"
#include "base/reasons.h"
#include "op/math/binary.h"
#include "op/qnn/common.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct FixedPointMultiplyAttrs {
  int64_t multiplier = 0, shift = 0;
  static constexpr auto kFields = fields(
      field("multiplier", &FixedPointMultiplyAttrs::multiplier, "the factor is multiplier / 2^31 * 2^shift")
          .required(),
      field("shift", &FixedPointMultiplyAttrs::shift, "the exponent of the factor").required());
};

struct FixedPointMultiplyPerAxisAttrs {
  bool is_lshift_required = false, is_rshift_required = false;
  std::vector<int64_t> axes = {};
  static constexpr auto kFields =
      fields(field("is_lshift_required", &FixedPointMultiplyPerAxisAttrs::is_lshift_required,
                   "False: all left shifts count as 0"),
             field("is_rshift_required", &FixedPointMultiplyPerAxisAttrs::is_rshift_required,
                   "False: all right shifts count as 0"),
             field("axes", &FixedPointMultiplyPerAxisAttrs::axes,
                   "that factors and shifts go along, from the end if negative")
                 .required());
};

// floor(p / 2^shift + 1/2). A product of two int32 and half of a power of two fit 64 bits.
int64_t quotient(int64_t p, int64_t shift) { return (p + ((int64_t{1} << shift) >> 1)) >> shift; }

// The same in a kernel.
kernel::Expr quotient(kernel::Builder& k, kernel::Expr p, kernel::Expr shift) {
  const kernel::Expr one = k.pool().integer(1, kInt64);
  return cast(kInt32, shift_right(p + shift_right(shift_left(one, shift), one), shift));
}

// --- fixed_point_multiply ------------------------------------------------------------------------

// (Tensor[s, int32]) -> Tensor[s, int32]
// C1: the data is int32.   C2: multiplier is in [-2^31, 2^31).   C3: shift is in [-31, 31].
Type relate(Relation& r, const FixedPointMultiplyAttrs& a) {
  r.require(r.tensor(0).dtype == kInt32, 0, "expected int32");  // C1
  const IntegerRange range = range_of(kInt32);
  r.require(range.low <= a.multiplier && a.multiplier <= range.high, kAttributes,
            "multiplier must be at least -2^31 and less than 2^31");                                     // C2
  r.require(a.shift >= -31 && a.shift <= 31, kAttributes, "shift must be at least -31 and at most 31");  // C3
  return &r.tensor(0);
}

void evaluate(const FixedPointMultiplyAttrs& a, Args in, Results out) {
  for (int64_t i = 0; i < in[0].size(); ++i)
    out[0].set_int(i, quotient(in[0].get_int(i) * a.multiplier, 31 - a.shift));
}

std::vector<kernel::Tensor> lower(kernel::Builder& k, const FixedPointMultiplyAttrs& a, const Lowering& c) {
  const auto number = [&](int64_t v) { return k.pool().integer(v, kInt64); };
  return {k.compute("fixed_point_multiply", kInt32, c.shape(), [&](kernel::Indices i) {
    return quotient(k, cast(kInt64, c.in[0].at(i)) * number(a.multiplier), number(31 - a.shift));
  })};
}

// --- fixed_point_multiply_per_axis ---------------------------------------------------------------

// (Tensor[s, int32], Tensor[t, int32], Tensor[t, int32], Tensor[t, int32]) -> Tensor[s, int32]
// C1: all are int32.   C2: every axis is in [-rank, rank).   C3: no axis is named twice.
// C4: t has the extents of s along the axes, in their order.
Type relate_per_axis(Relation& r, const FixedPointMultiplyPerAxisAttrs& a) {
  const TensorType& q = r.tensor(0);
  for (int arg = 0; arg < 4; ++arg) r.require(r.tensor(arg).dtype == kInt32, arg, "expected int32");  // C1
  const std::vector<size_t> axes = distinct_axes(r, a.axes, q.rank());  // C2, C3
  for (int arg = 1; arg < 4; ++arg) {
    r.require_rank(arg, axes.size());  // C4
    for (size_t d = 0; d < axes.size(); ++d)
      r.same(r.tensor(arg).dims[d], q.dims[axes[d]], arg, cat("extent of axis ", axes[d]), 0);  // C4
  }
  return &q;
}

// The indices of the factor for the element i.
template <class T>
std::vector<T> factor_of(const FixedPointMultiplyPerAxisAttrs& a, std::span<const T> i) {
  std::vector<T> out;
  for (const int64_t axis : a.axes) out.push_back(i[from_front(axis, i.size())]);
  return out;
}

void evaluate_per_axis(const FixedPointMultiplyPerAxisAttrs& a, Args in, Results out) {
  const auto shift = [](bool counts, const Tensor& t, int64_t j) -> int64_t {
    if (!counts) return 0;
    if (t.get_int(j) < 0 || t.get_int(j) > 31) throw Trap(kShiftOutOfRange);
    return t.get_int(j);
  };
  int64_t n = 0;
  for_each_index(in[0].shape(), [&](const std::vector<int64_t>& i) {
    const int64_t j = offset_of(in[1].shape(), factor_of<int64_t>(a, i));
    const int64_t left = shift(a.is_lshift_required, in[2], j), right = shift(a.is_rshift_required, in[3], j);
    out[0].set_int(n, quotient(in[0].get_int(n) * in[1].get_int(j), 31 - left + right));
    ++n;
  });
}

std::vector<kernel::Tensor> lower_per_axis(kernel::Builder& k, const FixedPointMultiplyPerAxisAttrs& a,
                                           const Lowering& c) {
  const auto number = [&](int64_t v) { return k.pool().integer(v, kInt64); };
  const auto shift = [&](bool counts, const kernel::Tensor& t, kernel::Indices j) {
    if (!counts) return number(0);
    const kernel::Expr e = cast(kInt64, t.at(j));
    k.require(logical_and(less_equal(number(0), e), less_equal(e, number(31))), kShiftOutOfRange);
    return e;
  };
  return {k.compute("fixed_point_multiply", kInt32, c.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> j = factor_of<kernel::Expr>(a, i);
    const kernel::Expr left = shift(a.is_lshift_required, c.in[2], j),
                       right = shift(a.is_rshift_required, c.in[3], j);
    const kernel::Expr product = cast(kInt64, c.in[0].at(i)) * cast(kInt64, c.in[1].at(j));
    return quotient(k, product, number(31) - left + right);
  })};
}

bool traps_per_axis(const FixedPointMultiplyPerAxisAttrs& a, std::span<const Type>, Type) {
  return a.is_lshift_required || a.is_rshift_required;
}

}  // namespace

const OpDef kFixedPointMultiply = define<FixedPointMultiplyAttrs>({
    .name = "fixed_point_multiply",
    .doc = "Integers times a factor in fixed point: 31 bits behind the point, and a shift.",
    .params = {{"data", "int32"}},
    .fusion = Fusion::kElementwise,
    .not_differentiable = kOnIntegers,
    .relate = relate,
    .evaluate = evaluate,
    .lower = lower,
});

const OpDef kFixedPointMultiplyPerAxis = define<FixedPointMultiplyPerAxisAttrs>({
    .name = "fixed_point_multiply_per_axis",
    .doc = "Integers times factors in fixed point, one for each index along some axes.",
    .params = {{"data", "int32"},
               {"fp_multiplier", "factors: 31 bits behind the point"},
               {"left_shift", "exponents of the factors"},
               {"right_shift", "negative exponents of the factors"}},
    .effects = Effects::kTraps,
    .fusion = Fusion::kBroadcast,
    .not_differentiable = kOnIntegers,
    .relate = relate_per_axis,
    .evaluate = evaluate_per_axis,
    .traps = traps_per_axis,
    .lower = lower_per_axis,
});

}  // namespace relay::op
