// What a wrong argument is told. pybind11 lists the types of all arguments, and does not say which
// argument is wrong.
#pragma once

#include <pybind11/pybind11.h>

namespace relay::python {

// After the last function, for all functions of the module and methods of its classes:
// the TypeError for arguments that fit no parameter names the argument, and says what
// the function takes.
void explain_refusals(pybind11::module_& m);

}  // namespace relay::python
