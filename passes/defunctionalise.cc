// defunctionalise: function values become data that says which function it is.
//
//   def @main(%x: int32) { @twice(fn (%y: int32) { add(%y, %x) }, %x) }
//   becomes
//   type Function_0 { Function_0_0(int32) }
//   def @main(%x: int32) { @twice(Function_0_0(%x), %x) }
//   def @main_code_0(%x: int32, %y: int32) { add(%y, %x) }
//   def @call_0(%f: Function_0, %a0: int32) {
//     match (%f) { Function_0_0(%c0) => @main_code_0(%c0, %a0) }
//   }
//
// Each type of functions has a data type and a function that calls its values (J. C. Reynolds,
// "Definitional Interpreters for Higher-Order Programming Languages", 1972). Generic functions
// become functions of known types first. Functions may be anywhere: in tuples, lists, cells, and
// results of functions.
//
// A program stays as it is, and `relay opt -v` says why, if @main takes or gives functions, or if
// shape variables are in the type of a function value or of what it captures: data types cannot
// name them.
//
// Before: types are known. After: functions are called, and are no values; functions that @main
// does not reach are removed.
#include "passes/function_values.h"

namespace relay::passes {

const Pass kDefunctionalise = {
    .name = "defunctionalise",
    .doc = "make function values data that says which function it is",
    .run = [](const Module& m,
              const PassContext& pass) { return with_function_data(m, pass, FunctionForm::kTags); },
};

}  // namespace relay::passes
