// closure-conversion: a function value becomes the code of a global function, and data that holds
// what the function captured.
//
//   def @main(%x: int32) { @twice(fn (%y: int32) { add(%y, %x) }, %x) }
//   becomes
//   type Captured_0 { Captured_0_0(int32) }
//   type Function_0 { Function_0(fn(Captured_0, int32) -> int32, Captured_0) }
//   def @main(%x: int32) { @twice(Function_0(@main_code_0, Captured_0_0(%x)), %x) }
//   def @main_code_0(%captured: Captured_0, %y: int32) {
//     match (%captured) { Captured_0_0(%x) => add(%y, %x) }
//   }
//   def @call_0(%f: Function_0, %a0: int32) {
//     match (%f) { Function_0(%code, %captured) => %code(%captured, %a0) }
//   }
//
// `lambda-lift` leaves closures that the engine makes; after this pass the program makes them
// itself. It asks what `defunctionalise` asks, and stays where that does.
//
// Before: types are known. After: function values are global functions, which capture nothing;
// functions that @main does not reach are removed.
#include "passes/function_values.h"

namespace relay::passes {

const Pass kClosureConversion = {
    .name = "closure-conversion",
    .doc = "make function values pairs of a global function and of what they capture",
    .run = [](const Module& m,
              const PassContext& pass) { return with_function_data(m, pass, FunctionForm::kCodes); },
};

}  // namespace relay::passes
