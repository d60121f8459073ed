// NaN and infinities in what a program gives.
#pragma once

#include <string>

#include "ir/expr.h"
#include "runtime/value.h"

namespace relay::driver {

struct NonFinite {
  int64_t nans = 0, infinities = 0;

  bool any() const { return nans + infinities > 0; }
  std::string text() const;  // "3 NaN and 1 infinity"
};
NonFinite count_nonfinite(const Tensor& t);
// In all tensors of a value.
NonFinite count_all(const Value& v);
// Can it be what an operator gives? Functions and cells cannot.
bool holds_tensors_alone(const Value& v);

// An observer of the interpreter's machine that traps where a call gives a NaN.
void trap_nan(Expr e, const Value& v);

}  // namespace relay::driver
