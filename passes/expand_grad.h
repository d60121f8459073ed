// grad(f) of the language (op/grad.h), replaced by the function that it stands for.
#pragma once

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"

namespace relay::passes {

// A typed module without `grad`, for any engine; the module itself if it has none. Reports
// "not-differentiable" for a function that has no gradient, or that is not known when the program
// is compiled.
Result<Module> without_grad(const Module& m, Diagnostics& diagnostics);

// The same of a program that was read and has no types yet.
Result<Module> checked(const Module& read, Diagnostics& diagnostics);

}  // namespace relay::passes
