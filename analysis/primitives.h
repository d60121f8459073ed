// What stands in functions marked `Primitive`: `fuse` made a kernel's worth of it, and `lower`
// makes one kernel of each.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/expr.h"

namespace relay::analysis {

// The bodies of such functions, of those among these expressions.
std::unordered_set<Expr> inside_primitives(const std::vector<Expr>& order);

}  // namespace relay::analysis
