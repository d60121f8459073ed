// Gradients of functions of a module, beside them.
#pragma once

#include <vector>

#include "base/result.h"
#include "passes/gradient/program.h"
#include "passes/pass.h"

namespace relay::passes::gradient {

// The typed module with a function besides for each root, and all that these call. Writes the names
// of these functions to Wanted::into. Work is linear in the module: functions that several roots
// reach are differentiated once. Reports what has no gradient.
Result<Module> with_gradients(const Module& m, std::vector<Wanted>& roots, const PassContext& pass);

}  // namespace relay::passes::gradient
