// Conditions on programs, which passes promise and tests ask.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace relay::passes {

// Says what is wrong with an expression; an empty text if nothing is.
using Condition = std::function<std::string_view(Expr)>;

// Asks the condition of each expression of each function that is not in a primitive one. Returns
// the first place where something is wrong, and what; an empty text if there is none.
std::string first_problem(const Module& m, const std::function<Condition(Expr root)>& condition_for);

}  // namespace relay::passes
