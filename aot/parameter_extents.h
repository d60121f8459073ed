// The shape variables of a generated function, which the extents of its arguments tell.
#pragma once

#include "aot/extents.h"
#include "aot/function_text.h"

namespace relay::aot {

// Prints a variable for each shape variable that a parameter's type tells, where one stands alone
// or by a dim like `2*n + 1`, and adds it to `extents`. A shape that the types do not allow ends
// the run. The parameters have names.
void bind_extents(FunctionText& text, const Fn& fn, Extents& extents);

}  // namespace relay::aot
