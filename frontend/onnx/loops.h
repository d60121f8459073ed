// Loops of a model as functions that call themselves. Private to this folder.
//
//   let step = fn(i, go, states..., rows...) {
//     if (go && i < trips) { step(i + 1, body...) } else { (states..., rows...) }
//   };
//   step(0, go, states..., no rows yet...)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"

namespace relay::frontend {

// What one step gives.
struct LoopStep {
  Expr go = nullptr;  // whether to go on, a scalar; null where that is not asked
  std::vector<Expr> states;
  std::vector<Expr> rows;  // each is collected over all steps
};

struct LoopForm {
  std::string name;      // of the node, for names of values
  Expr trips = nullptr;  // an int64 scalar; null: no limit
  Expr go = nullptr;     // whether to begin, a scalar; null: yes
  std::vector<Expr> states;
  // The extent of the collected rows, where each of `count` steps runs; `?` if nobody knows.
  Dim count = Dim::unknown();
  // Which rows are collected from the last to the first.
  std::vector<bool> backwards = {};
  // What steps use and is computed once, before the loop: variables and their values, in order.
  std::vector<std::pair<const Var*, Expr>> held = {};
  // Converts the body for a step. It may run several times: where a step gives a state another
  // extent than it had, that extent is `?` and has a name in the body. Returns nothing if a
  // node was refused.
  std::function<std::optional<LoopStep>(Expr i, const std::vector<Expr>& states)> body = {};

  // A variable for the value, which `held` gets; a constant or a variable is returned as it is.
  Expr hold(Node& n, Expr value);
};

// The last states, then the rows of all steps along a new first axis. Extents that only a run tells
// have names. Nothing if the body gave nothing.
std::optional<std::vector<Expr>> make_loop(Node& n, const LoopForm& form);

// The scope of a body, in which the values from around are those that `form` holds. Without that,
// what only the body uses would be computed in each step.
NameScope held_scope(Node& n, const ::onnx::GraphProto& body, LoopForm& form);

// e[i] along the axis.
Expr element(Node& n, Expr e, Expr i, int64_t axis);
// The extent of an axis as a scalar of int64.
Expr extent(Node& n, Expr e, int64_t axis);

// What a `Loop` consists of; refuses one whose body does not fit it.
struct LoopParts {
  const ::onnx::GraphProto& body;
  size_t states, scanned;
};
LoopParts parts_of_loop(Node& n);

std::optional<std::vector<Operand>> convert_loop(Node& n);
std::optional<std::vector<Operand>> convert_scan(Node& n);

}  // namespace relay::frontend
