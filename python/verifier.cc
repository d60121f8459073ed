// relay.verify and its report: driver/verifier.h.
#include "driver/verifier.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/cat.h"
#include "base/failure.h"
#include "driver/driver.h"
#include "python/arguments.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/values.h"
#include "python/work.h"

namespace relay::python {
namespace {

using Row = driver::VerifyRow;

struct Report {
  std::vector<Row> rows;
  std::vector<std::string> notes;

  std::string text() const {
    std::string out = driver::show(rows);
    for (const std::string& note : notes) out += cat("note: ", note, "\n");
    return out;
  }
  bool ok() const {
    return std::all_of(rows.begin(), rows.end(), [](const Row& r) { return !r.skipped.empty() || r.ok; });
  }
  // What failed comes before what differs, and that before what used the most of its bound.
  const Row* worst() const {
    const auto rank = [](const Row& r) {
      const driver::Verdict v = r.verdict();
      return std::pair(v == driver::Verdict::kFailed    ? 2
                       : v == driver::Verdict::kDiffers ? 1
                                                        : 0,
                       r.worst.needed);
    };
    const Row* out = nullptr;
    for (const Row& r : rows) {
      if (r.skipped.empty() && (!out || rank(r) > rank(*out))) out = &r;
    }
    return out;
  }
};

py::dict dict_of(const Row& r) {
  py::dict out;
  out["engine"] = r.engine;
  out["level"] = r.level;
  out["verdict"] = std::string(driver::name(r.verdict()));
  out["trouble"] = r.trouble();
  out["output"] = r.output;
  out["error"] = r.worst.error;
  out["bound"] = r.worst.bound;
  out["needed"] = r.worst.needed;
  out["seconds"] = r.seconds;
  out["prepare_seconds"] = r.prepare_seconds;
  return out;
}

py::dict dict_of(const Report& r) {
  py::list rows;
  for (const Row& row : r.rows) rows.append(dict_of(row));
  py::dict out;
  out["ok"] = r.ok();
  out["rows"] = rows;
  out["notes"] = r.notes;
  return out;
}

// The outputs of another program, as tensors.
frontend::data::NamedTensors given_outputs(const Program& program, const Signature& signature,
                                           py::handle expected, const std::string& argument) {
  std::vector<uint32_t> types{signature.result};
  const TypeEntry& entry = signature.types[signature.result];
  if (entry.kind == TypeEntry::Kind::kTuple) types = entry.constructors[0].fields;
  Signature outputs{.types = signature.types, .inputs = program.model.output_names, .parameters = types};
  if (outputs.inputs.size() != types.size())
    throw py::type_error(
        cat("argument `", argument, "`: the program gives ", entry.text, ", which has parts without names"));
  const auto in_order = [&] {
    try {
      return ordered(outputs, expected);
    } catch (const py::type_error&) {  // which would speak of inputs
      throw py::type_error(cat("argument `", argument, "` has other outputs than the program, which are `",
                               join(outputs.inputs, "`, `"), "`: give them in this order, or by name"));
    }
  };
  const std::vector<py::object> given = in_order();
  frontend::data::NamedTensors out;
  for (size_t i = 0; i < given.size(); ++i) {
    if (signature.types[types[i]].kind != TypeEntry::Kind::kTensor)
      throw py::type_error(cat("argument `", argument, "`: output `", outputs.inputs[i], "` is no tensor"));
    const std::string name = cat(argument, "[\"", outputs.inputs[i], "\"]");
    out.push_back({outputs.inputs[i], tensor_of(lend(given[i], signature.types[types[i]], name))});
  }
  return out;
}

std::vector<Value> values_of(const Signature& signature, const std::vector<py::object>& arguments) {
  std::vector<Value> out;
  for (size_t i = 0; i < arguments.size(); ++i)
    out.push_back(value_of(signature, signature.parameters[i], arguments[i], signature.inputs[i]));
  return out;
}

// The inputs by name, as arrays of the program's dtypes: what another runtime is given. So what is
// wrong with them is said in our words.
py::dict input_arrays(const Program& given, py::handle inputs) {
  const Program program = copy_to_run(given);
  const Signature signature = signature_of(program.model);
  const std::vector<Value> values = values_of(signature, ordered(signature, inputs));
  check_extents(program.model, signature, values);
  py::dict out;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = signature.inputs[i];
    if (!values[i].is_tensor()) {
      throw py::type_error(cat("argument `", name, "` is of the type ",
                               signature.types[signature.parameters[i]].text,
                               ", and only arrays are given to another runtime"));
    }
    out[py::str(name)] = array_of(values[i].tensor());
  }
  return out;
}

struct Verified {
  Diagnostics diagnostics;
  std::optional<Report> report;
  std::optional<Trap> trap;
};

Report verify(const Program& given, py::handle inputs, const std::vector<std::string>& engines,
              const std::vector<int>& levels, int threads, const std::string& target,
              const std::string& denormals, py::handle expected, const std::string& expected_from,
              const py::object& progress) {
  driver::VerifyOptions options;
  const driver::Options common = engine_options(0, threads, target, denormals);
  for (const int level : levels) check_level("levels", level);
  options.target = common.target;
  options.denormals = common.denormals;
  options.engines = engines;
  options.levels = levels;
  options.threads = threads;
  for (const std::string& engine : engines) {
    if (std::string wrong = driver::wrong_engine(engine); !wrong.empty())
      throw py::value_error(cat("argument `engines`: ", wrong));
  }
  const Program program = copy_to_run(given);
  const Signature signature = signature_of(program.model);
  const std::vector<Value> values = values_of(signature, ordered(signature, inputs));
  std::optional<frontend::data::NamedTensors> theirs;
  const std::string argument = expected_from.empty() ? "expected" : "against";
  if (!expected.is_none()) theirs = given_outputs(program, signature, expected, argument);

  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  options.cancel = abandoned.get();
  const auto verified = std::make_shared<Verified>();
  const Progress told(progress);
  const auto work = [verified, program, options, values, theirs, abandoned, say = told.say()] {
    // Each engine is prepared and run, and the reference runs, too. Engines that
    // are fast run again.
    const size_t total = 2 * driver::engines_at(options).size() + 1;
    size_t begun = 0;
    driver::OnStep on_step;
    if (say) on_step = [&](std::string_view what) { say(std::min(begun++, total), total, what); };
    try {
      const Result<driver::Model> model = driver::specialise(program.model, values, verified->diagnostics);
      if (!model) return;
      driver::Verifier verifier(*model, options, on_step);
      std::vector<Row> rows = verifier.run(values, theirs ? &*theirs : nullptr);
      verified->report = Report{std::move(rows), verifier.notes()};
    } catch (const Trap& trap) {
      verified->trap = trap;
    }
    if (say) say(total, total, "done");
  };
  run_interruptibly(work, &told, abandoned);
  if (verified->trap) raise_trap(verified->trap->what(), verified->trap->span, program.sources());
  if (!verified->report) raise_diagnostics(verified->diagnostics, program.sources());
  warn(verified->diagnostics, program.sources());
  if (!expected_from.empty()) verified->report->notes.push_back(cat("`expected` is of ", expected_from));
  return std::move(*verified->report);
}

}  // namespace

void bind_verifier(py::module_& m) {
  py::class_<Row>(m, "Row", "One engine at one level, compared with the reference.")
      .def_readonly("engine", &Row::engine, "its name; \"expected\" for the outputs of another program")
      .def_readonly("level", &Row::level, "of optimisation; None where there is none")
      .def_property_readonly(
          "verdict", [](const Row& r) { return std::string(driver::name(r.verdict())); },
          "\"agrees\", \"differs\", \"failed\" or \"skipped\"")
      .def_property_readonly("trouble", &Row::trouble, "what is wrong; empty if it agrees")
      .def_property_readonly(
          "error", [](const Row& r) { return r.worst.error; }, "at the worst element")
      .def_property_readonly(
          "bound", [](const Row& r) { return r.worst.bound; }, "that this element has")
      .def_property_readonly(
          "needed", [](const Row& r) { return r.worst.needed; }, "the share of the bound, 1 is all")
      .def_readonly("output", &Row::output, "that has the worst element")
      .def_readonly("seconds", &Row::seconds, "of a run")
      .def("to_dict", [](const Row& r) { return dict_of(r); })
      .def("__repr__",
           [](const Row& r) { return cat("<relay.Row ", r.label(), ": ", driver::name(r.verdict()), ">"); });
  py::class_<Report>(m, "Report", "What comparing engines gave. `print(report)` is a table.")
      .def_readonly("rows", &Report::rows, "one for each engine at each level")
      .def_readonly("notes", &Report::notes, "what else is to be known, as texts")
      .def_property_readonly("ok", &Report::ok, "no engine differs or failed")
      .def_property_readonly("worst", &Report::worst, py::return_value_policy::reference_internal,
                             "the row to look at first; None if all engines skipped the program")
      .def("to_dict", [](const Report& r) { return dict_of(r); })
      .def("__str__", &Report::text)
      .def("__repr__", &Report::text);
  m.def("_input_arrays", &input_arrays, "The inputs by name, as arrays of the program's dtypes.");
  m.def("verify", &verify, py::arg("module"), py::arg("inputs"), py::kw_only(),
        py::arg("engines") = std::vector<std::string>(), py::arg("levels") = std::vector<int>{0, 1, 2, 3},
        py::arg("threads") = 1, py::arg("target") = "native", py::arg("denormals") = "flush",
        py::arg("expected") = py::none(), py::arg("expected_from") = "", py::arg("progress") = py::none(),
        "Compares engines with the reference interpreter, within the bounds of docs/semantics.md.\n\n"
        "`inputs` is a dict by name, a sequence, or one array. No `engines` means all. `expected` has the\n"
        "outputs of another program, which are compared too; a note of the report names `expected_from`. "
        "`progress(done, total, what)` is called for "
        "each step.");
}

}  // namespace relay::python
