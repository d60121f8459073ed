// Probabilities of classes from those of pairs of classes.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

inline constexpr int64_t kMostProbableClasses = 64;  // the code of a step has a part for each

// `pairs` (rows, pairs) says for the classes i < j, in the order (0, 1), (0, 2), ..., how
// likely i is if a row is of one of both. Returns (rows, classes) that fit them best, by the
// method of Wu, Lin and Weng (2004) as LIBSVM and ONNX Runtime have it: at most 100 rounds,
// until the error is small.
Expr probabilities_of_pairs(Node& n, Expr pairs, int64_t classes);

}  // namespace relay::frontend
