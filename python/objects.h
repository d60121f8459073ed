// Objects that are made or pickled in a way for which pybind11 ends the process.
#pragma once

#include <pybind11/pybind11.h>

namespace relay::python {

// Before the first class: whoever calls the base of all classes gets a TypeError. If another
// package has bound classes to the base, it stays as it is.
void guard_base();

// After the last class, for all classes of the module:
// * An object that only `__new__` made has no value. Its use raises TypeError.
// * Pickles of the protocols 0 and 1 are made as those of 2 are.
void guard_classes(pybind11::module_& m);

}  // namespace relay::python
