// relay.passes: passes/pass.h.
#include "passes/pass.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <vector>

#include "base/cat.h"
#include "python/bindings.h"

namespace relay::python {
namespace {

struct PassInfo {
  std::string name, doc;
  std::map<std::string, int64_t> parameters;  // with the values that they have if nobody says otherwise
};

std::vector<PassInfo> passes() {
  std::vector<PassInfo> out;
  for (const relay::passes::Pass* pass : relay::passes::all_passes()) {
    PassInfo info{std::string(pass->name), std::string(pass->doc), {}};
    for (const relay::passes::Parameter& p : pass->parameters)
      info.parameters.emplace(std::string(p.name), p.default_value);
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace

void bind_passes(py::module_& m) {
  py::class_<PassInfo>(m, "Pass", "A pass that `Module.run` knows.")
      .def_readonly("name", &PassInfo::name)
      .def_readonly("doc", &PassInfo::doc)
      .def_readonly("parameters", &PassInfo::parameters)
      .def("__repr__", [](const PassInfo& p) { return cat("<relay.Pass ", p.name, ": ", p.doc, ">"); });
  m.def("passes", &passes, "All passes, sorted by name.");
}

}  // namespace relay::python
