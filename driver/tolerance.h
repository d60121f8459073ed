// How far an engine's result may be from the interpreter's (docs/semantics.md).
#pragma once

#include <string_view>
#include <vector>

#include "ir/module.h"
#include "runtime/compare.h"
#include "runtime/denormals.h"
#include "runtime/value.h"

namespace relay::driver {

// Bounds for each tensor of the result of calling `function` with `args`, where `want` is the
// interpreter's result. If the function is one operator call, that operator's own tolerance; else a
// whole network's (passes/reference.h). Bounds of an engine that flushes denormals have the floor
// that follows from that.
std::vector<Bound> bounds_for(const Module& m, std::string_view function, const std::vector<Value>& args,
                              const Value& want, Denormals denormals = Denormals::kFlush);

}  // namespace relay::driver
