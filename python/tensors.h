// Tensors of Python programs: NumPy's arrays, and whatever has DLPack's `__dlpack__`.
//
// An input is read where it lies: nothing is copied, and nothing converted. So it must have the
// dtype, the byte order and the row-major layout that the program takes. What does not fit is a
// TypeError or a ValueError that names the argument and a remedy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "python/signature.h"
#include "runtime/dlpack.h"
#include "runtime/tensor.h"

namespace relay::python {

namespace py = pybind11;

// Memory of a Python program. `owner` keeps it there, and may only be let go with the GIL.
struct Lent {
  void* data = nullptr;
  DType dtype = {};
  std::vector<int64_t> shape = {};
  bool writable = false;
  bool copied = false;  // by who gave it: nobody else sees what is written to it
  py::object owner = {};

  size_t bytes() const;
  DLTensor dlpack();  // refers to this
};

// The value of the argument `name`, for a tensor type. A Python number will do for a scalar.
Lent lend(py::handle value, const TypeEntry& type, const std::string& name);
// The same for an array that a result is written to: NumPy's or one of DLPack,
// writable, and no copy.
Lent lend_output(py::handle value, const TypeEntry& type, const std::string& name);

// The memory as a tensor that keeps it there. Tensors may end on any thread, without the GIL.
Tensor tensor_of(Lent lent);
// A new array with a copy of the elements.
py::array array_of(const Tensor& tensor);

// A new array, with elements that mean nothing yet.
py::array new_array(const py::dtype& dtype, const std::vector<int64_t>& shape);

// Finds NumPy's C interface. pybind11 does it where it needs it first, and asks a module that
// NumPy 2 warns of.
void load_numpy();

// NumPy's name of the dtype. Of bfloat16 and the 8-bit floats it is in the package ml_dtypes:
// raises TypeError without it. 4-bit integers take a byte each.
py::dtype numpy_dtype(DType dtype);

// Raises TypeError for a name that means one dtype to NumPy, and another in texts of the language.
void refuse_two_meanings(const std::string& dtype, const std::string& what);
// The dtype that a name, a NumPy dtype or a class as np.float32 means. Raises TypeError; `what`
// says what it is given for.
DType dtype_of(py::handle dtype, const std::string& what);

DLDataType dlpack_dtype(DType dtype);

}  // namespace relay::python
