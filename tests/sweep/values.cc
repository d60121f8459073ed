#include "tests/sweep/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace relay::sweep {
namespace {

// xorshift64*: the same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull) {}
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  uint64_t state_;
};

struct Range {
  double low = 0, high = 1;
};

Range range_of(const Tensor& t) {
  Range out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    if (!std::isfinite(v)) continue;
    out.low = std::min(out.low, v);
    out.high = std::max(out.high, v);
  }
  return out.low <= out.high ? out : Range{};
}

// What is far from the ends of the dtype.
Range within(Range r, DType dtype) {
  double most = 1e6;
  if (dtype == kFloat16) most = 256;
  if (dtype.is_float() && dtype.bits == 8) most = 8;
  if (dtype.is_int() && dtype.bits < 32) most = std::ldexp(1, dtype.bits - 1) - 1;
  const double least = dtype.is_unsigned_int() ? 0 : -most;
  return {std::clamp(r.low, least, most), std::clamp(r.high, least, most)};
}

// May a special value stand among the operands? In a sum an infinity meets its opposite, or a
// rounding decides whether it is one.
bool takes_special(const op::OpDef& op) {
  return op.tolerance.kind != op::Tolerance::Kind::kReduction && op.fusion <= op::Fusion::kInjective;
}

void set_special(Tensor& t, int64_t i, uint64_t which) {
  if (t.dtype().is_float()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSome[] = {0.0, -0.0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                                1};
    t.set(i, kSome[which % std::size(kSome)]);
    return;
  }
  if (t.dtype().is_bool()) return;
  const int bits = t.dtype().bits;
  const bool is_signed = t.dtype().is_signed_int();
  const int64_t least = is_signed ? (bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1))) : 0;
  const int64_t most = is_signed    ? (bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1)
                       : bits == 64 ? -1
                                    : (int64_t{1} << bits) - 1;
  const int64_t some[] = {0, least, most, is_signed ? -1 : 1};
  t.set_int(i, some[which % std::size(some)]);
}

}  // namespace

Tensor draw_values(const op::OpDef& op, const Operand& o, const Shape& shape, property::ByteSource& in) {
  const uint32_t how = in.below(8);
  const bool fits = shape == o.values.shape();
  if (how < 3 && fits) return o.dtype == o.values.dtype() ? o.values : o.values.converted(o.dtype);
  Numbers numbers(in.below(256) * 256 + in.below(256));
  Range r = within(range_of(o.values), o.dtype);
  if (how == 3 && !o.dtype.is_float()) r = within({0, 1}, o.dtype);
  if (how == 4) r = within({std::min(r.low, 0.0), std::max(r.high, 1.0)}, o.dtype);
  Tensor out(o.dtype, shape);
  const bool special = how == 7 && takes_special(op);
  for (int64_t i = 0; i < out.size(); ++i) {
    const double unit = numbers.unit();
    if (special && numbers.below(4) == 0) {
      set_special(out, i, numbers.below(60));
    } else if (o.dtype.is_bool()) {
      out.set_int(i, unit < 0.5);
    } else if (o.dtype.is_float()) {
      const double v = r.low + unit * (r.high - r.low);
      out.set(i, how == 5 ? std::round(v) : v);
    } else {
      out.set_int(i, static_cast<int64_t>(std::floor(r.low + unit * (r.high - r.low + 1))));
    }
  }
  return out;
}

}  // namespace relay::sweep
