// Kind check: do the types that the program writes down make sense?
#pragma once

#include <unordered_set>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace relay::typecheck {

// Reports data types that do not exist or have other parameters, type parameters that nobody
// declares or that hide others, duplicate parameters. Returns the types that are wrong; whoever
// meets one takes it for poison.
std::unordered_set<Type> check_kinds(const Module& m, Diagnostics& diagnostics);

}  // namespace relay::typecheck
