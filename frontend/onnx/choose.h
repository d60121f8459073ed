// Tensors of which only a run tells which one is taken. Private to this folder.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// if (test) { yes } else { no }. Both have one rank and dtype, else the node is refused. Extents in
// which they differ are `?`.
Expr choose(Node& n, Expr test, Expr yes, Expr no);

}  // namespace relay::frontend
