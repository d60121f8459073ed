// Continuation-passing style: what the pass `continuation-passing` promises of its result.
#pragma once

#include <string>

#include "ir/module.h"

namespace relay::passes {

// Each call of a function, by name or as a value, is the last thing that the function around it
// does. Returns the first place that breaks it, or an empty text. Operators, constructors, kernels,
// and function literals that are called where they are written may be called anywhere.
std::string breaks_continuation_passing(const Module& m);

}  // namespace relay::passes
