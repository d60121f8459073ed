// Loops that converters write: tail recursion, so that the code is as long as one step.
#pragma once

#include <functional>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// state = first; for i in [0, count) state = step(i, state). `count` and i are scalars of int64. A
// step must keep the type of the state; a node with one that does not is refused.
Expr repeat(Node& n, Expr count, Expr first, const std::function<Expr(Expr i, Expr state)>& step);

}  // namespace relay::frontend
