// Conditions of breakpoints: what the tensors of a value must be like.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/value.h"

namespace relay::tools::debug {

class Condition {
 public:
  // `nan`, `inf`, or `max > 1e3`: min, max, mean, std or absmax, compared with a number; or several
  // with `|` between them, of which one must hold. Throws Refused.
  static Condition parse(std::string_view text);

  // True if it is true of one of the value's tensors. What a tensor has not (the mean of no
  // elements) compares as false.
  bool holds(const Value& v) const;
  std::string text() const;

 private:
  enum class What { kNan, kInf, kMin, kMax, kMean, kStd, kAbsMax };
  enum class Is { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kNotEqual };
  struct One {
    What what = What::kNan;
    Is is = Is::kGreater;
    double bound = 0;

    bool holds(const Tensor& t) const;
    std::string text() const;
  };
  static One parse_one(std::string_view text);
  bool holds(const Tensor& t) const;

  std::vector<One> any_;
};

}  // namespace relay::tools::debug
