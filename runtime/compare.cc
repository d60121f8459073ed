#include "runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace relay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string number(double v) {
  if (std::isnan(v)) return "nan";  // its sign means nothing
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

// The exponent of the smallest normal number, and the digits after the leading one.
struct Precision {
  int lowest_exponent, mantissa;
};
Precision precision_of(DType d) {
  switch (d.code) {
    case DTypeCode::kBFloat: return {-126, 7};
    case DTypeCode::kFloat8E4M3: return {-6, 3};
    case DTypeCode::kFloat8E5M2: return {-14, 2};
    default: break;
  }
  if (d.bits == 64) return {-1022, 52};
  if (d.bits == 32) return {-126, 23};
  return {-14, 10};
}

bool are_zeros_of_two_signs(double x, double y) {
  return x == 0 && y == 0 && std::signbit(x) != std::signbit(y);
}

}  // namespace

double spacing(DType dtype, double x) {
  if (!dtype.is_float()) return 1;
  const Precision p = precision_of(dtype);
  const double magnitude = std::fabs(x);
  if (!std::isfinite(magnitude)) return kInfinity;
  const int exponent =
      magnitude == 0 ? p.lowest_exponent : std::max(std::ilogb(magnitude), p.lowest_exponent);
  return std::ldexp(1.0, exponent - p.mantissa);
}

Bound Bound::plus(std::function<double(int64_t i)> more) const {
  Bound out = *this;
  out.allowed_ = [own = allowed_, more = std::move(more)](int64_t i) { return own(i) + more(i); };
  return out;
}

bool Bound::allows(int64_t i, double got, double want) const {
  if (!other_.defined()) return false;
  const double other = other_.get(i);
  if (got == 0 && want == 0) return other == 0 && !are_zeros_of_two_signs(got, other);
  if (!other_.dtype().is_float() || std::isnan(other) || std::isnan(want))
    return got == other || (std::isnan(got) && std::isnan(other));
  if (std::isfinite(other) && std::isfinite(want)) return false;
  return std::min(want, other) <= got && got <= std::max(want, other);
}

Comparison compare(const Tensor& got, const Tensor& want, const Bound& bound) {
  Comparison c;
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    c.ok = false;
    c.needed = kInfinity;
    c.reason = "got Tensor[" + show(got.shape()) + ", " + got.dtype().name() + "], wanted Tensor[" +
               show(want.shape()) + ", " + want.dtype().name() + "]";
    return c;
  }
  for (int64_t i = 0; i < got.size(); ++i) {
    const double x = got.get(i), y = want.get(i);
    double error = 0, allowed = 0;
    if (std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y)) {
      const bool fits = (std::isnan(x) && std::isnan(y)) || x == y;
      error = fits ? 0 : kInfinity;
    } else {
      // Through integers where doubles would round a difference away.
      error = got.dtype().is_int() && got.dtype().bits == 64 && got.get_int(i) != want.get_int(i) && x == y
                  ? 1
                  : std::fabs(x - y);
      allowed = bound(i);
    }
    const bool signs = bound.is_exact() && allowed == 0 && are_zeros_of_two_signs(x, y);
    bool differs = error > allowed || signs;
    if (differs && bound.allows(i, x, y)) {
      error = 0;
      differs = false;
    }
    const double share = error == 0 && !differs ? 0 : allowed > 0 ? error / allowed : kInfinity;
    c.largest_error = std::max(c.largest_error, error);
    if (c.worst < 0 || share > c.needed || (share == c.needed && error > c.error)) {
      c.worst = i;
      c.got = x;
      c.want = y;
      c.error = error;
      c.bound = allowed;
      c.needed = share;
      c.reason = differs && signs ? "the signs of two zeros differ" : "";
    }
  }
  if (c.worst >= 0) c.ulps = c.error == 0 ? 0 : c.error / spacing(want.dtype(), c.want);
  c.ok = c.needed <= 1;
  return c;
}

Comparison compare_exact(const Tensor& got, const Tensor& want) { return compare(got, want, Bound::exact()); }

Comparison compare_ulps(const Tensor& got, const Tensor& want, double ulps) {
  return compare(got, want, [&](int64_t i) { return ulps * spacing(want.dtype(), want.get(i)); });
}

std::string show(const Comparison& c, const Shape& shape) {
  if (c.worst < 0) return c.reason.empty() ? "no elements" : c.reason;
  std::string place;
  int64_t rest = c.worst;
  for (size_t d = shape.size(); d-- > 0;) {
    place = std::to_string(shape[d] ? rest % shape[d] : 0) + (place.empty() ? "" : ", ") + place;
    if (shape[d]) rest /= shape[d];
  }
  std::string out = "worst at [" + place + "]: got " + number(c.got) + ", wanted " + number(c.want) +
                    ", error " + number(c.error);
  // Of numbers that have nothing to do with each other, or near 0, units in the last
  // place say nothing.
  constexpr double kMostUlps = 1e4;
  if (c.ulps <= kMostUlps) out += " (" + number(c.ulps) + " ulp)";
  out += ", bound " + number(c.bound);
  if (c.needed > 0) out += ", needed " + number(c.needed) + " times the bound";
  if (!c.reason.empty()) out += "; " + c.reason;
  return out;
}

}  // namespace relay
