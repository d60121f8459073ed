// Functions of NumPy on tensors of a program: `numpy.exp(x)`, `numpy.sum(x, axis=0)`.
//
// Those that operators compute become calls of these, with NumPy's parameters. What differs, and
// what is no operator, is refused with a remedy.
#pragma once

#include <pybind11/pybind11.h>

#include "python/expr.h"

namespace relay::python {

// What NumPy calls for `numpy.exp(e)`, `array + e` (both ufuncs), `numpy.sum(e)` and
// `numpy.array(e)`.
void bind_numpy_protocols(py::class_<ExprHandle>& expr);

}  // namespace relay::python
