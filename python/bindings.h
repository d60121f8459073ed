// The parts of the extension module `relay._relay`. Each adds the names of one C++ header.
#pragma once

#include <pybind11/pybind11.h>

namespace relay::python {

namespace py = pybind11;

void bind_places(py::module_& m);    // base/source.h
void bind_errors(py::module_& m);    // base/diagnostics.h, base/failure.h
void bind_types(py::module_& m);     // ir/type.h, ir/dim.h
void bind_expr(py::module_& m);      // ir/expr.h
void bind_ops(py::module_& m);       // op/registry.h
void bind_control(py::module_& m);   // ir/builder.h
void bind_builder(py::module_& m);   // ir/module.h
void bind_model(py::module_& m);     // driver/model.h
void bind_export(py::module_& m);    // exporter/onnx/export.h
void bind_passes(py::module_& m);    // passes/pass.h, passes/runner.h
void bind_patterns(py::module_& m);  // pattern/
void bind_engines(py::module_& m);   // driver/engines.h
void bind_artifact(py::module_& m);  // runtime/relay.h, and driver::build, which makes artifacts
void bind_verifier(py::module_& m);  // driver/verifier.h
void bind_debugger(py::module_& m);  // tools/debug/session.h

}  // namespace relay::python
