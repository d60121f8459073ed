// Integers that stand for real numbers, scale * (integer - zero point), in the inputs of nodes.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// The scale or zero point at an input: a scalar, or a list along an axis. A list of
// one is a scalar.
Expr parameter_at(Node& n, size_t i);
// The zero point at an input, as int32; 0, for each scale, if it is not there.
Expr zero_point_at(Node& n, size_t i, Expr scale);

// The real numbers that x stands for, with the scale at an input and the zero point behind it. Both
// are scalars.
Expr dequantised(Node& n, Expr x, size_t scale);
// Real numbers as integers, likewise; halves are rounded to even.
Expr quantised(Node& n, Expr x, size_t scale, DType dtype);

// uint8 with a scale and a zero point that follow from the range of x, which includes 0.
struct DynamicallyQuantised {
  Expr integers, scale;
  Expr zero_point;  // float32
};
DynamicallyQuantised quantised_dynamically(Node& n, Expr x);

}  // namespace relay::frontend
