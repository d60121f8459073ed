// How far an engine's result may be from the interpreter's (docs/semantics.md).
#pragma once

#include <functional>
#include <vector>

#include "ir/module.h"
#include "runtime/compare.h"
#include "runtime/value.h"
#include "tools/engines.h"

namespace relay::tools {

// The tensors of a value, tuples and data values taken apart, in order. Values may share parts, and so be larger than any
// memory: throws Exhausted if there are more than `kMostParts` parts.
inline constexpr size_t kMostParts = size_t{1} << 20;
std::vector<Tensor> tensors_of(const Value& v);

// Bounds for each tensor of the result of calling `function` with `args`, where `want` is the interpreter's result. If
// the function is one operator call, that operator's own tolerance; otherwise a whole network's, for which
// `unoptimised` is run; the interpreter's result takes its place if it fails.
std::vector<Bound> bounds_for(const Module& m, std::string_view function, const std::vector<Value>& args,
                              const Value& want,
                              const std::function<Outcome(const std::vector<Value>&)>& unoptimised);

// The bound of a whole network for one output: 4 max(E, u M), where E is the largest error of the unoptimised run and M the
// largest magnitude, both against the float64 reference.
Bound network_bound(const Tensor& reference, const Tensor& unoptimised);

// The module with float64 in the place of float32, and an argument for that module; functions and references stay.
Module widened(const Module& m);
Value widened(const Value& v, const Module& wide);

}  // namespace relay::tools
