// Module.run, relay.passes and relay.pipeline: passes/pass.h, passes/runner.h.
#include "passes/pass.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cat.h"
#include "base/stopwatch.h"
#include "passes/runner.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/make.h"
#include "python/model.h"
#include "python/pass_report.h"
#include "python/work.h"

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

std::vector<std::string> pipeline(int level, const std::string& target) {
  const driver::Options options = engine_options(level, 1, target, "flush");
  std::vector<std::string> out;
  for (const relay::passes::Step& step : relay::passes::default_pipeline(options.opt_level, options.target))
    out.push_back(relay::passes::show(step));
  return out;
}

// --- Module.run ----------------------------------------------------------------------------------

// A part of a list of passes: a function of Python's, or else passes of ours.
struct Part {
  py::object function = {};
  relay::passes::Pipeline steps = {};
};

void add_steps(const std::string& text, std::vector<Part>& out) {
  Diagnostics diagnostics;
  const Result<relay::passes::Pipeline> steps = relay::passes::parse_pipeline(text, diagnostics);
  if (!steps) raise_diagnostics(diagnostics, {});
  if (out.empty() || out.back().function) out.emplace_back();
  out.back().steps.insert(out.back().steps.end(), steps->begin(), steps->end());
}

void add_pass(py::handle pass, std::vector<Part>& out) {
  if (py::isinstance<py::str>(pass)) {
    add_steps(py::str(pass), out);
  } else if (py::isinstance<PassInfo>(pass)) {
    add_steps(py::cast<const PassInfo&>(pass).name, out);
  } else if (PyCallable_Check(pass.ptr())) {
    out.push_back({py::reinterpret_borrow<py::object>(pass)});
  } else {
    throw py::type_error(cat("argument `passes` has a ", class_name(pass),
                             ": a pass is a name, a relay.Pass, or a function from module to module"));
  }
}

std::vector<Part> parts_of(py::handle passes, const driver::Options& options) {
  std::vector<Part> out;
  if (passes.is_none()) {
    out.push_back({{}, relay::passes::default_pipeline(options.opt_level, options.target)});
  } else if (py::isinstance<py::list>(passes) || py::isinstance<py::tuple>(passes)) {
    for (const py::handle pass : passes) add_pass(pass, out);
  } else {
    add_pass(passes, out);
  }
  return out;
}

std::string name_of(const py::object& function) {
  return py::hasattr(function, "__name__") ? std::string(py::str(function.attr("__name__")))
                                           : class_name(function);
}

// The module that a user's function makes of this one. What it raises goes through.
Program call(const py::object& function, const Program& p, PassReport& report) {
  const Stopwatch watch;
  const Busy busy(Busy::With::kFunctions);
  const py::object given = function(py::cast(p));
  if (!py::isinstance<Program>(given))
    throw py::type_error(cat("the pass `", name_of(function), "` gave a ", class_name(given),
                             ": a pass takes a relay.Module and returns one"));
  auto out = py::cast<Program>(given);
  report.add(name_of(function), watch.seconds(), p.model.module, out.model.module);
  return out;
}

Program run_steps(const Program& p, const relay::passes::Pipeline& steps, driver::Options options,
                  const std::shared_ptr<PassReport>& report, const Progress& progress) {
  struct Done {
    Diagnostics diagnostics;
    std::optional<Module> module;
  };
  const auto done = std::make_shared<Done>();
  options.observers = {report.get()};
  run_interruptibly(
      [done, p, steps, options, report] {
        const std::lock_guard guard(*p.context);
        const Result<Module> now = relay::passes::run_pipeline(
            p.model.module, steps, driver::runner_options(options), done->diagnostics);
        if (now) done->module = *now;
      },
      &progress);
  if (!done->module) raise_diagnostics(done->diagnostics, p.sources());
  warn(done->diagnostics, p.sources());
  Program out = p;
  out.model.module = std::move(*done->module);
  return out;
}

Program run(const Program& given, const py::object& passes, int level, const std::string& target,
            const py::object& progress) {
  const driver::Options options = engine_options(level, 1, target, "flush");
  const std::vector<Part> parts = parts_of(passes, options);
  size_t total = 0;
  for (const Part& part : parts) total += part.function ? 1 : part.steps.size();
  const Progress told(progress);
  const auto report = std::make_shared<PassReport>(given.model.module, total, told.say());
  Program now = given;
  for (const Part& part : parts) {
    now =
        part.function ? call(part.function, now, *report) : run_steps(now, part.steps, options, report, told);
    if (told.is_asked()) told.tell();
  }
  now.report = report;
  return now;
}

}  // namespace

void bind_passes(py::module_& m) {
  bind_pass_report(m);
  py::class_<PassInfo>(m, "Pass", "A pass that `Module.run` knows.")
      .def_readonly("name", &PassInfo::name)
      .def_readonly("doc", &PassInfo::doc)
      .def_readonly("parameters", &PassInfo::parameters)
      .def("__repr__", [](const PassInfo& p) { return cat("<relay.Pass ", p.name, ": ", p.doc, ">"); });
  m.def("passes", &passes, "All passes, sorted by name.");
  m.def("pipeline", &pipeline, py::arg("level") = 2, py::arg("target") = "native",
        "The passes of a level, in order, as texts that `Module.run` takes.");
  py::class_<Program>(m.attr("Module"))
      .def("run", &run, py::arg("passes") = py::none(), py::kw_only(), py::arg("level") = 2,
           py::arg("target") = "native", py::arg("progress") = py::none(),
           "The module after these passes: \"simplify-inference,fuse\", or a list of such texts and of\n"
           "functions from module to module. Without any, after those of the level.\n\n"
           "`progress(done, total, what)` is called while they run.")
      .def_property_readonly(
          "report", [](const Program& p) { return p.report; },
          "what the passes of `run` did; None for a module that was read");
}

}  // namespace relay::python
