// Plan order: in which order the steps of a memory plan stand.
//
// A plan may compute its values in any order that computes what a step reads before the step. Which
// of two traps a run ends by is the program's, so what may trap stays in evaluation order.
#pragma once

#include <vector>

#include "ir/expr.h"
#include "ir/module.h"

namespace relay::passes {

// Could a call of the lowered kernel trap, where extents are constant or follow from shape
// variables? It may if it requires something, or is a C function. `lower` has written as
// requirements what a user's kernel relies on, and nothing else ends a run of compiled code.
// Linear in the statements.
bool may_trap(const kernel::Kernel& k);

// Returns the nodes below the body of a lowered function, each once and after its operands.
//
// It is `post_order` if that has what may trap in evaluation order: values are computed shortly
// before they are read, and so need less memory. Else it is `evaluation_order`.
std::vector<Expr> plan_order(const Module& m, Expr body);

}  // namespace relay::passes
