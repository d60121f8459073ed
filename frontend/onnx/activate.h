// Activations that an operator of com.microsoft carries in its attributes.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// What is known of the parameters of an activation, in the order in which ONNX's operator of that
// name has its attributes. Missing ones have that operator's defaults.
Expr activated(Node& n, Expr x, const std::string& name, const std::vector<double>& parameters);

Expr gelu(Node& n, Expr x);                      // x / 2 * (1 + erf(x / sqrt(2)))
Expr gelu_by_tanh(Node& n, Expr x);              // its approximation
Expr quick_gelu(Node& n, Expr x, double alpha);  // x * sigmoid(alpha * x)

}  // namespace relay::frontend
