// Which functions inside of others may become functions of the module.
#pragma once

#include <vector>

#include "ir/context.h"
#include "ir/expr.h"

namespace relay::passes {

// Is all that the function mentions known to a function of the module that takes these variables?
// The types are, without holes and type parameters. Each shape variable is an extent of one of the
// variables.
bool is_closed(Context& context, const Fn& fn, const std::vector<const Var*>& captured);

}  // namespace relay::passes
