// The bits of floating-point numbers as integers, and back.
//
// Kernels have no instruction for it, so arithmetic finds them: exactly, but for NaN, of which the
// sign and the payload are lost. A NaN's bits are those of the positive quiet NaN without a
// payload. Where an engine takes denormal numbers for 0, their bits are those of 0.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// `numbers` are float16, bfloat16, float32 or float64; the result is the signed
// integer of that width.
Expr bits_of(Node& n, Expr numbers);
// `bits` are integers of the width of such a dtype.
Expr float_of(Node& n, Expr bits, DType dtype);

}  // namespace relay::frontend
