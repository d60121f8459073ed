// NaN and infinities in what a program gives: how many, and where they come from.
#pragma once

#include <string>
#include <vector>

#include "runtime/value.h"
#include "tools/model.h"

namespace relay::tools {

struct NonFinite {
  int64_t nans = 0, infinities = 0;

  bool any() const { return nans + infinities > 0; }
  std::string text() const;  // "3 NaN and 1 infinity"
};
NonFinite count_nonfinite(const Tensor& t);

// An observer of the interpreter's machine that traps where a call gives a NaN.
void trap_nan(Expr e, const Value& v);

// Runs the model, each operator compiled by itself, up to the first call that gives a NaN, or where
// there is none an infinity: which call that is, its place and its line. An input that holds one is
// named instead. Empty if nothing holds one. Throws what the machine throws.
std::string origin_of_nonfinite(const Model& model, const std::vector<Value>& args);

}  // namespace relay::tools
