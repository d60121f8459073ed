#include "python/masked.h"

#include <pybind11/numpy.h>

#include "base/cat.h"

namespace relay::python {

namespace py = pybind11;

void refuse_masked(py::handle value, const std::string& what, const std::string& remedy) {
  if (!py::isinstance<py::array>(value)) return;
  // Most arrays are of NumPy's own class, which has no mask.
  if (py::type::handle_of(value).ptr() ==
      reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_))
    return;
  if (!py::isinstance(value, py::module_::import("numpy.ma").attr("MaskedArray"))) return;
  throw py::type_error(cat(what, " is a masked array, and tensors have no mask: ", remedy));
}

}  // namespace relay::python
