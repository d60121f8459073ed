// What an engine's result is compared with, and how far it may be away (docs/semantics.md).
#pragma once

#include <string_view>
#include <vector>

#include "ir/module.h"
#include "runtime/compare.h"
#include "runtime/denormals.h"
#include "runtime/value.h"

namespace relay::driver {

// What the tensors of a result have to be. One entry each.
struct Wanted {
  std::vector<Tensor> own = {};  // the interpreter's
  // The middle of the bounds: floats in float64, so that the interpreter's roundings are no part of
  // what an engine may be away. `own` where it has to be right bit for bit, where it is no finite
  // float, and where rounding takes the program another way than float64 does.
  std::vector<Tensor> middle = {};
  std::vector<Bound> bounds = {};
  // Why a bound is not capped (passes::ErrorBound::uncapped); empty if it is, or needs no cap.
  std::vector<std::string_view> uncapped = {};

  // This result, bit for bit.
  static Wanted exact(const Value& result);

  // `got` is tensor i of an engine's result.
  Comparison compare(size_t i, const Tensor& got) const;
};

// For the call of `function` with `args`, of which `result` is the interpreter's result. If the
// function is one operator call, the bounds are that operator's own; else those of a whole network
// (passes/reference.h). Bounds of an engine that flushes denormals have the floor that follows from
// that. Throws what the interpreter throws: Trap, Exhausted.
Wanted wanted_of(const Module& m, std::string_view function, const std::vector<Value>& args,
                 const Value& result, Denormals denormals = Denormals::kFlush);

}  // namespace relay::driver
