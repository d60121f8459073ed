// Generic functions that a let binds and that compute with values of their type parameters: one let
// for each choice of types takes the place of each. A part of the pass `monomorphise`.
#pragma once

#include <set>

#include "base/diagnostics.h"
#include "ir/context.h"
#include "ir/expr.h"

namespace relay::passes {

// The function with such lets; itself if it has none. A function that mentions one of the `generic`
// functions of the module is among those that are monomorphised, and each is if `all` says so.
// Reports "too-many-instances" where one would become more than `most`.
const Fn* monomorphise_lets(Context& context, const Fn* fn, const std::set<Symbol>& generic, size_t most,
                            bool all, Diagnostics& diagnostics);

}  // namespace relay::passes
