#include "python/pass_report.h"

#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "base/cat.h"

namespace relay::python {
namespace {

std::string rules_of(const PassReport::Row& row) {
  std::string out;
  for (const auto& [rule, times] : row.rules)
    out += cat(out.empty() ? "" : ", ", rule, times > 1 ? cat(" x", times) : "");
  return out;
}

std::string table(const PassReport& r) {
  std::string out = fmt::format("{:<28} {:>11} {:>11} {:>9} {:>7}  {}\n", "pass", "time", "expressions",
                                "functions", "kernels", "");
  const auto line = [&](const std::string& name, const std::string& time, const analysis::ModuleSize& size,
                        const std::string& said) {
    out += fmt::format("{:<28} {:>11} {:>11} {:>9} {:>7}  {}\n", name, time, size.expressions, size.functions,
                       size.kernels, said);
  };
  line("(before)", "", r.before(), "");
  for (const PassReport::Row& row : r.rows())
    line(row.pass, fmt::format("{:.2f} ms", row.seconds * 1e3), row.after,
         row.changed ? rules_of(row) : "unchanged");
  return out;
}

py::dict dict_of(const PassReport::Row& row) {
  py::dict out;
  out["pass"] = row.pass;
  out["seconds"] = row.seconds;
  out["changed"] = row.changed;
  out["expressions"] = row.after.expressions;
  out["functions"] = row.after.functions;
  out["kernels"] = row.after.kernels;
  out["rules"] = row.rules;
  return out;
}

}  // namespace

void PassReport::ran(const passes::StepReport& r, Diagnostics&) {
  add({passes::show(r.step()), (r.pass_ms + r.check_ms) / 1e3, r.changed(), {}, r.rules}, r.after);
}

void PassReport::add(const std::string& function, double seconds, const Module& before, const Module& after) {
  add({function, seconds, !after.same(before), {}, {}}, after);
}

void PassReport::add(Row row, const Module& after) {
  row.after = row.changed ? analysis::size_of(after) : rows_.empty() ? before_ : rows_.back().after;
  rows_.push_back(std::move(row));
  if (say_) say_(rows_.size(), total_, rows_.back().pass);
}

void PassProgress::ran(const passes::StepReport& r, Diagnostics&) {
  say_(r.done, r.steps.size(), passes::show(r.step()));
}

void bind_pass_report(py::module_& m) {
  using Row = PassReport::Row;
  py::class_<Row>(m, "PassRow", "What one pass made of a module.")
      .def_readonly("pass_name", &Row::pass)
      .def_readonly("seconds", &Row::seconds, "with the type check behind it")
      .def_readonly("changed", &Row::changed)
      .def_property_readonly("expressions", [](const Row& r) { return r.after.expressions; })
      .def_property_readonly("functions", [](const Row& r) { return r.after.functions; })
      .def_property_readonly("kernels", [](const Row& r) { return r.after.kernels; })
      .def_readonly("rules", &Row::rules, "that it applied, and how often")
      .def("to_dict", [](const Row& r) { return dict_of(r); })
      .def("__repr__",
           [](const Row& r) { return cat("<relay.PassRow ", r.pass, r.changed ? ">" : ": unchanged>"); });
  py::class_<PassReport, std::shared_ptr<PassReport>>(
      m, "PassReport", "What passes made of a module. `print(report)` is a table.")
      .def_property_readonly("rows", &PassReport::rows)
      .def("to_dict",
           [](const PassReport& r) {
             py::list rows;
             for (const Row& row : r.rows()) rows.append(dict_of(row));
             py::dict out;
             out["rows"] = rows;
             return out;
           })
      .def("__str__", &table)
      .def("__repr__", &table);
}

}  // namespace relay::python
