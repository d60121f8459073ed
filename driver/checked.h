// A program as it was read, made ready for engines.
#pragma once

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"

namespace relay::driver {

// The module with its types, and functions in the place of each `grad(f)` (passes/expand_grad.h),
// which no engine has. Reports what is wrong.
Result<Module> checked(const Module& read, Diagnostics& diagnostics);

}  // namespace relay::driver
