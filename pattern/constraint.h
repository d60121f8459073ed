// What a part of a pattern says of one expression by itself: its form, type and
// attributes, not its parts.
#pragma once

#include "pattern/pattern.h"

namespace relay::pattern {

// Does the node's own demand hold of e? Calls, functions and the like: that e has as many parts
// as are described.
bool demand_holds(const Node& n, Expr e);

}  // namespace relay::pattern
