// Tensors of a program under NumPy's notation: `x[0]`, `x[:, 1:]`, `x[..., None]`, `a @ b`.
//
// Each becomes calls of operators. What NumPy would do with the elements of an array is refused
// with a remedy: they are not known while the program is made.
#pragma once

#include <pybind11/pybind11.h>

#include "ir/type.h"
#include "python/expr.h"

namespace relay::python {

// Part of the tensor, by integers, slices, `...` and None. An integer out of range is an IndexError
// where the extent is a constant, as in NumPy; else the run traps.
ExprHandle part_of_tensor(const ExprHandle& e, const TensorType& type, py::handle key);

// `a @ b`: at least one is an expression. Of tensors of rank 2 it is `nn.matmul`, of others an
// `einsum` whose leading axes broadcast. Where only a run knows that the lengths of the sums are
// equal, it compares them, and traps. Raises ValueError for lengths of which one is 1,
// or both are `?`.
ExprHandle product(const py::object& a, const py::object& b);

// The first extent. Raises TypeError for a scalar, and if only a run knows it.
size_t length_of_tensor(const TensorType& type);

}  // namespace relay::python
