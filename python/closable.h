// Compiled models end with a `with` block, or by `close()`.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>

#include "python/cancellation.h"

namespace relay::python {

namespace py = pybind11;

// What Python holds of a model. A call that runs keeps the model until it returns.
template <class T>
class Closable {
 public:
  explicit Closable(std::shared_ptr<T> model) : model_(std::move(model)) {}

  std::shared_ptr<T> get() const {
    if (!model_) throw py::value_error("the model is closed: make it again");
    return model_;
  }
  void close() { model_ = nullptr; }
  bool closed() const { return model_ == nullptr; }

 private:
  std::shared_ptr<T> model_;
};

// The methods that all closable models have.
template <class T>
py::class_<Closable<T>> bind_closable(py::module_& m, const char* name, const char* doc) {
  using Held = Closable<T>;
  return py::class_<Held>(m, name, doc)
      .def("__call__", [](const Held& h, const py::args& args,
                          const py::kwargs& named) { return h.get()->call(args, named); })
      .def(
          "run_async",
          [](const py::object& self, const py::args& args, const py::kwargs& named) {
            const Held* held = &py::cast<const Held&>(self);  // `self` keeps it
            return run_async([self, held, args, named](Cancellation& cancellation) {
              return held->get()->call(args, named, &cancellation);
            });
          },
          "The same call on another thread: a coroutine. The run ends if it is cancelled.")
      .def_property_readonly(
          "inputs", [](const Held& h) { return h.get()->signature().inputs; },
          "names, in the order of a call")
      .def_property_readonly(
          "outputs", [](const Held& h) { return h.get()->signature().outputs; }, "names, in order")
      .def("close", &Held::close,
           "Frees the model when no call runs. The end of a `with` block does it, too.")
      .def_property_readonly("closed", &Held::closed, "by `close()` or the end of a `with` block")
      .def("__enter__",
           [](const py::object& self) {
             py::cast<const Held&>(self).get();
             return self;
           })
      .def("__exit__", [](Held& h, const py::args&) { h.close(); });
}

}  // namespace relay::python
