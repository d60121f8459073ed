// Evaluation order: in which order a program computes its values.
//
// `post_order` visits a shared node at its first use. The language evaluates it where its scope
// begins, before everything else there (docs/semantics.md, "Sharing"). The two orders differ in
// which of two traps a run ends by. So whatever puts evaluations in order asks here.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace relay {

// Returns each node that is reachable from the root once, in the order in which evaluation finishes
// them. All branches and arms are in it, in the order in which they are written. The body of a
// function stands before the function, or behind the arguments of a call of it where it is written.
// Leaves stand at their first use. Iterative, linear.
std::vector<Expr> evaluation_order(Expr root);

}  // namespace relay
