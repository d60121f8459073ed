// Classes whose objects own objects of Python's that may refer back to them.
//
// Python's garbage collector frees such a circle if it sees all references in it. So the class says
// which it owns. T has `int visit(visitproc, void*) const`, which calls Py_VISIT for each, and
// `void clear()`, which lets go of them.
#pragma once

#include <pybind11/pybind11.h>

namespace relay::python {

namespace py = pybind11;

// The object's value; null before its `__init__` has made it, and after it is gone.
template <class T>
T* value_if_made(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  if (!instance->simple_layout) return nullptr;  // it has only just got its memory
  const py::detail::value_and_holder found = instance->get_value_and_holder();
  return found.holder_constructed() ? static_cast<T*>(found.value_ptr()) : nullptr;
}

// For the constructor of py::class_<T>.
template <class T>
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
    PyTypeObject& type = heap_type->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      const T* value = value_if_made<T>(self);
      return value ? value->visit(visit, arg) : 0;
    };
    type.tp_clear = [](PyObject* self) {
      if (T* value = value_if_made<T>(self)) value->clear();
      return 0;
    };
    // What the value lets go of may start the collector, which must not find the object again.
    type.tp_dealloc = [](PyObject* self) {
      PyObject_GC_UnTrack(self);
      reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base)->tp_dealloc(self);
    };
  });
}

}  // namespace relay::python
