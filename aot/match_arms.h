// The arms of a match as C++: what asks which arm a value takes, and the arms where they are taken.
#pragma once

#include <functional>
#include <string>

#include "aot/arenas.h"
#include "aot/function_text.h"
#include "ir/module.h"

namespace relay::aot {

// Prints the match of `value`. `take` prints the arm of a number, where the value fits its
// pattern and the variables of the pattern have names; no arm is taken twice. A value that no arm
// fits ends the run.
void print_arms(FunctionText& text, Arenas& arenas, const Module& module, const Match& match,
                const std::string& value, const std::function<void(size_t)>& take);

}  // namespace relay::aot
