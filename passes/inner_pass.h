// Passes inside of a pass: what makes a program ready for one that asks more of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace relay::passes {

// The module with its types known again. Nothing if it does not type check: the program stays then,
// and `outer` has been told so, with what the check says first.
std::optional<Module> checked_inside(const Module& m, const PassContext& outer, std::string_view when);

// The module after the pass, with these values of its parameters and else its usual ones, and with
// known types. Nothing if the pass refuses: the program stays then, and `outer` has been told why.
std::optional<Module> after_inner_pass(const Module& m, const Pass& pass, const PassContext& outer,
                                       const std::map<std::string, int64_t>& values = {});

// The module in which functions that were found to be generic say so: they declare the type
// parameters and what these are asked for, and their parameters are annotated. Types are known.
Module with_declared_parameters(const Module& m);

// The module in which operators, constructors, functions and kernels that are values of known types
// are function literals that call them. `eta-expand` does so where a place asks for a type; these
// are of the types that they have.
Module with_function_literals(const Module& m);

// The module in which a function literal that is called where it is written, and used elsewhere as
// well, has a name where it is called: `let %f = fn (...) {...}; %f(%x)`. Types are known.
Module with_named_literals(const Module& m);

}  // namespace relay::passes
