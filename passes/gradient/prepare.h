// What passes about gradients do before and after.
#pragma once

#include "passes/gradient/program.h"
#include "passes/pass.h"

namespace relay::passes::gradient {

// The module with types that are known, in operators that have rules and functions that name their
// gradients. `tangents`: they name their tangents, too. Nothing after an error.
Result<Module> prepared(const Module& m, const PassContext& pass, bool tangents = false);

// `out`, in which functions that call the root go on calling what it was.
Module with_former_root(Module out, const Program& program);

}  // namespace relay::passes::gradient
