#include "passes/power_scales.h"

#include <algorithm>
#include <cmath>

namespace relay::passes {
namespace {

// The largest absolute value; nullopt if an element is not finite.
std::optional<double> magnitude_of(const Tensor& t) {
  double most = 0;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = std::fabs(t.get(i));
    if (!std::isfinite(v)) return std::nullopt;
    most = std::max(most, v);
  }
  return most;
}

double steps(double v, int exponent) { return std::nearbyint(std::ldexp(v, exponent)); }

}  // namespace

std::optional<int> exponent_for(const Tensor& t, int bits) {
  const std::optional<double> most = magnitude_of(t);
  if (!most || *most == 0) return most ? std::optional(0) : std::nullopt;
  int power = 0;  // most = fraction * 2^power with a fraction of at least 1/2 and less than 1
  const double fraction = std::frexp(*most, &power);
  if (fraction == 0.5) --power;
  return bits - 1 - power;
}

Tensor to_integers(const Tensor& t, int exponent, DType dtype, int64_t low, int64_t high) {
  Tensor out(dtype, t.shape());
  for (int64_t i = 0; i < t.size(); ++i) {
    const double q =
        std::clamp(steps(t.get(i), exponent), static_cast<double>(low), static_cast<double>(high));
    out.set_int(i, static_cast<int64_t>(q));
  }
  return out;
}

std::optional<int64_t> largest_integer(const Tensor& t, int exponent, int64_t most) {
  const std::optional<double> magnitude = magnitude_of(t);
  if (!magnitude) return std::nullopt;
  const double q = steps(*magnitude, exponent);
  return q > static_cast<double>(most) ? std::nullopt : std::optional(static_cast<int64_t>(q));
}

}  // namespace relay::passes
