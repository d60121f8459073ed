// Products of matrices that several families use.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// numpy.matmul: vectors, matrices, and stacks of matrices that broadcast. `attrs` are those of the
// operators matmul and batch_matmul.
Expr multiply_matrices(Node& n, Expr a, Expr b, const std::vector<AttrArg>& attrs);

}  // namespace relay::frontend
