// Inputs with which a program is run after each pass, to compare its answers.
//
// Only passes that approximate (Pass::approximates) may change what @main takes: `forward-gradient`
// adds tangents, `change-batch` changes extents.
#pragma once

#include <optional>
#include <vector>

#include "ir/expr.h"
#include "runtime/value.h"

namespace relay::passes {

// Does the typed function take these values as they are?
bool takes(const Fn& fn, const std::vector<Value>& values);

// Returns inputs for the parameters of a typed function. A sample that fits its parameter stays;
// else the parameter gets a tensor of its extents with the elements of the sample, in turns.
// Parameters beyond the samples start with the first sample again. Returns nullopt if that
// gives none that fit.
std::optional<std::vector<Value>> fitted_inputs(const Fn& fn, const std::vector<Value>& samples);

}  // namespace relay::passes
