// How far a result is from the one that was wanted, and whether that is within a bound.
//
// NaN must meet NaN and infinities must have the same sign; the bounds are about
// the other elements.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/tensor.h"

namespace relay {

struct Comparison {
  bool ok = true;
  std::string reason = {};  // why not, if the element with the largest share of its bound does not say it
  int64_t worst = -1;  // index of the element that used the largest share of its bound; -1 if there are none
  double got = 0, want = 0;  // there
  double error = 0;          // |got - want| there
  double ulps = 0;           // the same in units in the last place of `want`
  double bound = 0;          // what was allowed there
  double largest_error = 0;  // anywhere
  // The factor by which all bounds would have to be multiplied for the results to agree: below 1 is
  // ok. Infinite if a bound of 0 was not met.
  double needed = 0;
};

// The allowed |got - want| of element i. Distances do not see the sign of a zero: `exact` does.
class Bound {
 public:
  Bound() = default;
  // Bit for bit, except that any NaN equals any NaN.
  static Bound exact() {
    Bound out([](int64_t) { return 0.0; });
    out.is_exact_ = true;
    return out;
  }
  template <class Allowed>
    requires(std::is_invocable_r_v<double, Allowed&, int64_t> &&
             !std::is_same_v<std::remove_cvref_t<Allowed>, Bound>)
  Bound(Allowed allowed) : allowed_(std::move(allowed)) {}

  double operator()(int64_t i) const { return allowed_(i); }
  explicit operator bool() const { return static_cast<bool>(allowed_); }
  // Do two zeros have to have the same sign, wherever nothing is allowed?
  bool is_exact() const { return is_exact_; }
  // The same bound with `more` added at each element.
  Bound plus(std::function<double(int64_t i)> more) const;

  // Another result that is as good, and what lies between. It counts where no distance says how far
  // apart the two are: where one of them is no finite float, or both are zeros.
  void allow(Tensor other) { other_ = std::move(other); }
  bool allows(int64_t i, double got, double want) const;

 private:
  std::function<double(int64_t i)> allowed_;
  bool is_exact_ = false;
  Tensor other_;
};
Comparison compare(const Tensor& got, const Tensor& want, const Bound& bound);

// Within Bound::exact().
Comparison compare_exact(const Tensor& got, const Tensor& want);
// At most `ulps` units in the last place.
Comparison compare_ulps(const Tensor& got, const Tensor& want, double ulps);

// The distance between adjacent numbers of a floating dtype around x; 1 for integers.
double spacing(DType dtype, double x);

// "worst at [0, 3]: got 1.5, wanted 1.25, error 0.25 (2e+06 ulp), bound 0.1, needed 2.5
// times the bound"
std::string show(const Comparison& c, const Shape& shape);

}  // namespace relay
