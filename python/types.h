// relay.Type and relay.Dim: ir/type.h and ir/dim.h.
//
// Both are values. Each keeps its own context alive, and goes into that of an expression or a
// module when it is used there.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ir/context.h"
#include "ir/module.h"

namespace relay::python {

namespace py = pybind11;

struct TypeHandle {
  std::shared_ptr<Context> context;
  Type type;
};
// A copy of its own of a type that lives in a context which goes on changing.
TypeHandle own_type(Type type);

struct DimHandle {
  std::shared_ptr<Context> context;
  Dim dim;
};
DimHandle own_dim(Dim dim);

// What a program says of a value: a relay.Type, a text of the language, an array, whose shape and
// dtype are meant, or None, which is a null. Types of data are those of the module. Raises
// TypeError, or DiagnosticError for a text. `what` is the argument's name.
Type type_of_spec(const Module& module, py::handle spec, const std::string& what);
// An extent: an integer, a relay.Dim, or a text such as "2*n + 1". `what` says what
// it is given for.
Dim dim_of(const Module& module, py::handle extent, const std::string& what);
// A whole number of Python's or NumPy's. Raises what its `__index__` raises, and OverflowError that
// names `what` for one that 64 bits do not hold.
int64_t integer_of(py::handle value, const std::string& what);

}  // namespace relay::python
