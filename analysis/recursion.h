// Recursion that branches: functions of which one call can make several further ones, as
// those over trees do.
//
// Calls of kernels in different branches do not depend on each other, so many of them can be
// made at once (G. Neubig, Y. Goldberg, C. Dyer, "On-the-fly Operation Batching in Dynamic
// Computation Graphs", 2017).
#pragma once

#include <vector>

#include "ir/module.h"

namespace relay::analysis {

// The lets of function literals that mention themselves, in the order in which they do. One walk,
// however deeply functions are nested in each other.
std::vector<const Let*> recursive_lets(Expr root);

// Global functions and function literals, in order of the functions' names. A function that is
// passed on as a value counts as called more than once.
std::vector<const Fn*> branching_functions(const Module& m);

}  // namespace relay::analysis
