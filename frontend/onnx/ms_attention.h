// What the attention operators of com.microsoft share beyond heads.h.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// A row of cosines and of sines for each position.
struct RotaryTables {
  Expr cosines, sines;
  bool interleaved = false;
};
// x: (batch, heads, steps, size); positions: (batch, steps), or (1, steps) for all.
Expr rotated(Node& n, Expr x, Expr positions, const RotaryTables& tables);
// first + (0, 1, ..., steps - 1), int64; `first` is a scalar, or broadcasts with the steps.
Expr steps_from(Node& n, Expr first, Dim steps);
// Steps behind those of the past, if there is one: (batch, heads, steps, size).
Expr with_past(Node& n, Expr past, Expr now);

}  // namespace relay::frontend
