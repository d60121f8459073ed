#include "tests/property/expected.h"

#include <algorithm>
#include <cmath>

#include "runtime/compare.h"

namespace relay::property {

bool Expected::comparable() const { return run_.exact || (smooth_ && std::isfinite(run_.largest)); }

const passes::Reference& Expected::reference() const {
  if (!reference_) reference_ = passes::reference_of(module_, "main", args_);
  return *reference_;
}

std::string Expected::difference(const Run& got, double share) const {
  std::string differs = property::difference(got, run_);
  const bool values = got.kind == Run::Kind::kValue && run_.kind == Run::Kind::kValue;
  if (differs.empty() || !values || run_.exact || !smooth_ || !comparable()) return differs;
  // Of float64, as the reference: `got` may be of a program that was widened.
  const double allowed = share * run_.largest;
  return property::difference(got.value, run_.value, [&](size_t i, const Tensor& x, const Tensor&) {
    Comparison c = reference().compare(i, x);
    if (c.ok || share == 0 || !x.dtype().is_float()) return c;
    return compare(x.converted(kFloat64), reference().exact[i], [=](int64_t) { return allowed; });
  });
}

std::string Expected::difference(const driver::Outcome& got, double share) const {
  if (got.kind == driver::Outcome::Kind::kExhausted)
    return "the engine says that a limit was reached: " + got.message;
  return difference(run_of(got), share);
}

}  // namespace relay::property
