// The gradient of a straight-line program: a tape that is known when the program is compiled.
#pragma once

#include "passes/gradient/program.h"

namespace relay::passes::gradient {

// The module whose @main gives its value and the gradients of its parameters, without a reference
// and without a closure. Beside each function @f that it calls stands @f_gradient, from the
// arguments and the adjoint of the result to the adjoints of the arguments.
Module differentiate_straight(const Program& program);

}  // namespace relay::passes::gradient
