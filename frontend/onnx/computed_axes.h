// Axes that only a run tells. Private to this folder.
//
// What a run does along an axis that it is told, the program does along each axis in turn, within
// an `if`: the code is as long as the rank.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// Input i, axes of `rank`, counted from the front. A run traps if one does not exist. How many
// there are need not be known.
Expr axes_from_front(Node& n, size_t i, std::string_view what, size_t rank);
// The same; a run traps besides if one is given twice.
Expr different_axes_from_front(Node& n, size_t i, std::string_view what, size_t rank);
// A vector of `rank` int64: 1 for each of these axes, and else 0. A run traps if
// one is given twice.
Expr marked_axes(Node& n, Expr axes, size_t rank);

// Which axes of a tensor may be chosen: each of them once, in order.
struct Choosable {
  size_t rank;
  std::vector<size_t> axes;
};
Choosable every_axis(size_t rank);
// along(axis) for the axis that input i is. Only a run may tell which one it is: then the results
// must have one rank, and a run traps if it may not be chosen.
using AlongAxis = std::function<Expr(size_t axis)>;
Expr along_input_axis(Node& n, size_t i, const Choosable& from, const AlongAxis& along);
// along(e, axis) for one marked axis after another. It must keep the rank.
using AlongMarked = std::function<Expr(Expr e, size_t axis)>;
Expr along_marked_axes(Node& n, Expr e, Expr marks, const AlongMarked& along);

// The results of Squeeze and Unsqueeze, whose input 1 is computed.
Expr squeeze_computed(Node& n, Expr e);
Expr unsqueeze_computed(Node& n);
// Squeeze without axes. An open extent is taken not to be 1: there is a warning, and a run traps if
// it is.
Expr squeeze_ones(Node& n, Expr e);

}  // namespace relay::frontend
