// Checkpoints: what `annotation.checkpoint` encloses becomes a function.
//
// The gradient of a function evaluates it once more on the way back, and keeps only its arguments.
// That is what a checkpoint asks for.
#pragma once

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"

namespace relay::passes::gradient {

// Is it a function that was made of a checkpoint?
bool is_checkpoint(const Fn* fn);

// The typed module in which each annotation.checkpoint(e) is a call of a function with the body e.
// Its parameters are the variables that e uses, and what e shares with its surroundings. Reports
// "not-differentiable" if one of these is made of more than tensors and tuples.
Result<Module> with_checkpoints(const Module& m, Diagnostics& diagnostics);

}  // namespace relay::passes::gradient
