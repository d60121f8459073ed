// Function values as data: what the passes `defunctionalise` and `closure-conversion` share.
//
// Each type of functions becomes a data type, and each function literal of that type a value of it
// that holds what the literal captures. A call of a value becomes a call of a global function, one
// for each type, that finds out what to do. The passes differ in what a value is and in how that
// function goes on:
//
//   defunctionalise      type Function_0 { Function_0_0(int32), ... }       a constructor a literal
//                        @call_0 matches it, and calls the literal's code
//   closure-conversion   type Function_0 { Function_0(fn(Captured_0, int32) -> int32, Captured_0) }
//                        type Captured_0 { Captured_0_0(int32), ... }
//                        @call_0 takes the code out of it, and calls that
//
// A call that says which function it calls stays as it is: of an operator, a constructor, a global
// function, a kernel, or a function literal where it is written, as `match_shape` is.
//
// Data types cannot name the extents of what they hold. So the whole program stays, and the pass
// says why, if shape variables or type parameters are in the type of a function value or of what it
// captures. It stays, too, if @main takes or gives functions: those are what its callers know.
#pragma once

#include <cstdint>

#include "ir/module.h"
#include "passes/pass.h"

namespace relay::passes {

enum class FunctionForm : uint8_t {
  kTags,   // a constructor says which function it is
  kCodes,  // a closed global function, and what it needs beside its arguments
};

// The module in which function values are such data; `m` if there are none, or if the program is
// out of reach. Functions that @main does not reach are removed then. Linear in the sizes of the
// functions and of what they capture.
Module with_function_data(const Module& m, const PassContext& pass, FunctionForm form);

// Each condition returns the first place that breaks it, or an empty text.

// A defunctionalised program has no values that are functions: functions are called and nothing
// else.
std::string breaks_defunctionalisation(const Module& m);
// After closure conversion no function literal is a value: each function is global, and so
// captures nothing.
std::string breaks_closure_conversion(const Module& m);

}  // namespace relay::passes
