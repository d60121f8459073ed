#include "python/objects.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"

namespace relay::python {
namespace {

namespace py = pybind11;

// pybind11 asks for memory for a value where a method gets an object that has none yet, and goes on
// with whatever the memory holds.
void* refuse_unmade(size_t) {
  throw py::type_error(
      "an object that only __new__ made has no value: call its class, or the function of `relay` that makes "
      "such an object");
}

newfunc new_of_pybind11 = nullptr;

// For a class that nobody bound, pybind11 throws through Python's C code.
PyObject* new_of_bound_class(PyTypeObject* type, PyObject* args, PyObject* named) {
  if (!py::detail::all_type_info(type).empty()) return new_of_pybind11(type, args, named);
  PyErr_SetString(PyExc_TypeError, cat("cannot create an object of the class ", type->tp_name).c_str());
  return nullptr;
}

PyTypeObject* base_of_classes() {
  return reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
}

// pybind11 pickles by `__getstate__`. For protocols 0 and 1, Python's own `__reduce_ex__` calls the
// base of all classes instead.
py::object reduced(const py::object& self, int protocol) {
  const py::handle object(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return object.attr("__reduce_ex__")(self, std::max(protocol, 2));
}

}  // namespace

void guard_base() {
  // A class inherits `tp_new` when it is made, and Python demands that it is still
  // that of the base.
  if (!py::detail::get_internals().registered_types_py.empty()) return;
  new_of_pybind11 = std::exchange(base_of_classes()->tp_new, new_of_bound_class);
}

void guard_classes(py::module_& m) {
  for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(m.attr("__dict__"))) {
    if (!PyType_Check(value.ptr())) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(value.ptr());
    if (!PyType_IsSubtype(type, base_of_classes())) continue;
    py::detail::get_type_info(type)->operator_new = refuse_unmade;
    py::setattr(
        value, "__reduce_ex__",
        py::cpp_function(&reduced, py::name("__reduce_ex__"), py::is_method(value), py::arg("protocol")));
  }
}

}  // namespace relay::python
