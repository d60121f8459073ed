// Padding that goes around: what is put before the first element of an axis is the last one.
// Private to this folder.
#pragma once

#include <utility>
#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// x with so much before and behind each axis, none of it negative. A run traps if an axis without
// elements shall be padded.
Expr wrapped(Node& n, Expr x, const std::vector<std::pair<Dim, Dim>>& width);
// The same along one axis, by scalars of int64 that only a run tells. The new extent is `?`.
Expr wrapped(Node& n, Expr x, size_t axis, Expr before, Expr after);

}  // namespace relay::frontend
