// Which code a run may leave out: branches of `if` and arms of `match`.
//
// An extent may be wrong for one branch only. A run that takes the other branch is right, so such
// an error is no reason to refuse the extent. An error in code that each run evaluates is one.
#pragma once

#include <string_view>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace relay::driver {

// May a run of the function avoid all of these errors of a type check? False if one of them lies in
// a call that each run makes, or if there is nothing to choose. True if that is not known: the
// body of a function that is passed as a value may be called or not. Linear in the module.
bool may_avoid(const Module& m, std::string_view function, const Diagnostics& found);

}  // namespace relay::driver
