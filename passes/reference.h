// Reference: what a program's result should be, and how far an engine may be from it
// (docs/semantics.md, "How far an engine may be away").
//
// The result should be what the interpreter computes in float64. An honest engine computes in
// float32, so it may be as far away as float32 takes the interpreter itself, times a small factor.
// No compiled engine has a say in its own bound.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interp/limits.h"
#include "ir/module.h"
#include "runtime/compare.h"
#include "runtime/denormals.h"
#include "runtime/value.h"

namespace relay::passes {

// The tensors of a value, tuples and data values taken apart, in order. Values may share parts, and
// so be larger than any memory: throws Exhausted if there are more than `kMostParts` parts.
inline constexpr size_t kMostParts = size_t{1} << 20;
std::vector<Tensor> tensors_of(const Value& v);

// The module with float64 in the place of float32, and an argument for that module; functions and
// references stay.
Module widened(const Module& m);
Value widened(const Value& v, const Module& wide);
// The value for a copy of the module that it was made for (`compact`): an engine knows a
// constructor by its address. Functions and references stay.
Value in_module(const Value& v, const Module& copy);

// How far one output of a whole program may be from the float64 result, at every element.
struct ErrorBound {
  double bound = 0;      // 0 for outputs that are no floats
  double error = 0;      // E: the largest error of the interpreter in the program's own dtypes
  double magnitude = 0;  // M: the largest magnitude of the output
  double cap = 0;        // `bound` is never above it, but for the three reasons below
  double step =
      0;  // between two values of the last quantised layer; 0 if there is none. `bound` is whole steps.
  bool quantised = false;  // on the way to it numbers are rounded to steps, so that E is large
  // E alone is above the cap, so float32 cannot compute this output well.
  bool ill_conditioned = false;
  bool flushes = false;  // F alone is above the cap
  // F: how far the interpreter's own result is from the one with denormals flushed wherever an
  // engine may. The bound has 4 F, and a floor of four smallest normal numbers. 0
  // where they are kept.
  double flushed = 0;
  Tensor other = {};  // that result, where it differs

  Bound at_every_element() const;
  // Why the bound may be above the cap: "ill-conditioned", "flushed", or "quantised" if it is
  // above. Empty for others: an engine's error may not hide there.
  std::string_view uncapped() const;
  // What a report says beside the bound: how many steps it is, or why it has no cap. Empty for
  // others.
  std::string note() const;
};

// The share of M above which no bound is, unless `ErrorBound::uncapped` says why.
double cap_of(DType dtype);

// The largest difference of two results, where both are finite.
double error_of(const Tensor& exact, const Tensor& got);

// How a program rounds to steps.
struct Quantised {
  bool any = false;
  double step = 0;  // of the output's last quantised values; 0 if the output is something else
};

// The bound 4 max(E, u M), capped. `exact` is the output in float64, `dtype` that of the
// program, `error` is E.
ErrorBound error_bound(const Tensor& exact, DType dtype, double error, Quantised quantised = {});
// The bound for engines that flush denormals, which change the interpreter's result by `flushed`. A
// cap is four smallest normal numbers at least.
ErrorBound with_floor(ErrorBound bound, DType dtype, double flushed);

// `got` against a result in float64, so that the reference is not rounded. ULP are of the dtype of
// `got`.
Comparison compare_unrounded(const Tensor& got, const Tensor& exact, const Bound& bound);

struct Reference {
  std::vector<Tensor> exact;       // the tensors of the result, floats in float64
  std::vector<Tensor> own;         // the same in the program's dtypes, every sum in float32
  std::vector<ErrorBound> bounds;  // one each

  // `got` is tensor i of an engine's result.
  Comparison compare(size_t i, const Tensor& got) const;
};

// Told of each value on the way, as `interp::Options::observe` is.
using ValueObserver = std::function<void(Expr, const Value&)>;
// Gives an observer for each run as it begins. One run is exact, in float64; the others are in the
// program's own dtypes, and their errors are those of honest engines.
using RunObserver = std::function<ValueObserver(bool is_exact)>;

// Runs `function` of a checked module on the interpreter: in float64, in the program's own dtypes,
// and with disturbed results where one run says little about honest errors. Where denormals were
// met and engines flush them, one more run does. Each run has the limits. Throws what the
// interpreter throws: Trap, Exhausted.
Reference reference_of(const Module& m, std::string_view function, std::span<const Value> args,
                       const RunObserver& observer = {}, Denormals denormals = Denormals::kFlush,
                       const interp::Limits& limits = {});

}  // namespace relay::passes
