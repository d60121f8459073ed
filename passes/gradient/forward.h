// Forward mode: functions whose floats carry their tangents along.
#pragma once

#include "passes/gradient/program.h"

namespace relay::passes::gradient {

// The module whose @main takes the tangents of its parameters after them, and gives its value and
// the tangent of that. Beside each function @f that it reaches stands @f_forward.
Module differentiate_forward(const Program& program);

}  // namespace relay::passes::gradient
