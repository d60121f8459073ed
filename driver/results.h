// Results against the types of the functions that gave them.
//
// A type with `?` fits one with extents inside of data types, references and functions, and no run
// compares these (analysis/typed_extents.h). What comes out of them and is given as a result may
// have other extents than its type promises. So all engines compare results: a tensor of another
// shape ends the run by a trap. What a data type or a cell in the result holds is not looked at.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "driver/engines.h"
#include "ir/module.h"
#include "runtime/value.h"

namespace relay::driver {

// Throws Trap if a tensor of the result has another shape than the function's type says.
// `function` may be a kernel, whose results are what they are.
void compare_result(const Module& checked, std::string_view function, std::span<const Value> args,
                    const Value& result);

// The run, and then the comparison; the run itself if its results surely are of their type.
std::function<Outcome(const std::vector<Value>&)> with_compared_result(
    const Module& checked, std::string_view function, std::function<Outcome(const std::vector<Value>&)> run);

}  // namespace relay::driver
