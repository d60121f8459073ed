// The extension module `relay._relay`. The package's __init__.py gives its names to users.
#include "python/bindings.h"
#include "python/objects.h"
#include "python/refusals.h"
#include "python/tensors.h"
#include "python/work.h"
#include "tools/version.h"

PYBIND11_MODULE(_relay, m) {
  m.doc() = "The C++ API of Relay (docs/cpp.md) for Python (docs/python.md).";
  m.attr("__version__") = relay::tools::kVersion;
  relay::python::load_numpy();
  relay::python::guard_base();
  relay::python::bind_places(m);
  relay::python::bind_errors(m);
  relay::python::bind_types(m);
  relay::python::bind_expr(m);
  relay::python::bind_ops(m);
  relay::python::bind_model(m);
  relay::python::bind_control(m);
  relay::python::bind_builder(m);
  relay::python::bind_export(m);
  relay::python::bind_passes(m);
  relay::python::bind_patterns(m);
  relay::python::bind_engines(m);
  relay::python::bind_artifact(m);
  relay::python::bind_verifier(m);
  relay::python::bind_debugger(m);
  relay::python::guard_classes(m);
  relay::python::explain_refusals(m);
  relay::python::wait_for_abandoned_work_at_exit();
}
