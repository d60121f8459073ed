// The gradient of any program: functions that carry adjoints along, and remember the way back.
//
// An augmented function takes and gives each tensor of floats with a cell for its adjoint
// (types.h). It takes a cell more, `bp`: a function without arguments that goes the whole way back
// so far. Each call of an operator puts one step before it, which adds to the adjoints of the
// operator's arguments. So closures, cells, data types and recursion need nothing of their own, and
// what comes out is a program of the language, with a gradient of its own.
#pragma once

#include "passes/gradient/program.h"

namespace relay::passes::gradient {

// The module whose @main gives its value and the gradients of its parameters. Beside each function
// @f that it reaches stands @f_augmented.
Module differentiate_any(const Program& program);

}  // namespace relay::passes::gradient
