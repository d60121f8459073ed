// Masked arrays of NumPy. Tensors have no mask, so taking one would make valid elements of all.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace relay::python {

// Raises TypeError with the remedy if the value is such an array. `what` is what it is given for.
void refuse_masked(pybind11::handle value, const std::string& what, const std::string& remedy);

}  // namespace relay::python
