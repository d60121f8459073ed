#include "python/errors.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/cat.h"
#include "base/failure_names.h"
#include "python/bindings.h"
#include "python/places.h"

namespace relay::python {
namespace {

// A diagnostic without its sources.
struct Said {
  bool is_error;
  std::string slug, message, text;
  std::optional<Place> span;
  std::vector<std::string> notes;
};

// The driver names the option of the command. A name of a file may have it, too.
std::string with_argument_function(std::string text) {
  constexpr std::string_view kOption = "\nnote: choose another with --function; ", kNote = kOption.substr(7);
  constexpr std::string_view kArgument = "choose another with `function`; ";
  if (text.starts_with(kNote)) return text.replace(0, kNote.size(), kArgument);
  const size_t at = text.find(kOption);
  return at == std::string::npos ? text : text.replace(at + 7, kNote.size(), kArgument);
}

Said said(const Diagnostic& d, const SourceMap& sources) {
  Said out{.is_error = d.severity() == Severity::kError,
           .slug = std::string(d.slug().name()),
           .message = utf8(d.message()),
           .text = utf8(with_argument_function(render(d, sources))),
           .span = place_of(d.span(), sources),
           .notes = {}};
  for (const std::string& note : d.notes()) out.notes.push_back(utf8(with_argument_function(note)));
  return out;
}

// The line of the place with carets below, as diagnostics have it.
std::string text_of_trap(const std::string& message, Span at, const SourceMap& sources) {
  if (!at.known()) return message;
  const SourceMap::Position begin = sources.position(at.file, at.begin);
  const size_t rest = begin.text.size() - std::min(begin.text.size(), begin.column - 1);
  const size_t width = std::clamp<size_t>(at.end - at.begin, 1, std::max<size_t>(rest, 1));
  return cat(sources.place(at), ": trap: ", message, "\n  ", begin.text, "\n  ",
             std::string(begin.column - 1, ' '), "^", std::string(width - 1, '~'));
}

// The level of `warnings` at which the caller of this package stands: some of it is in Python.
int level_of_caller() {
  int level = 1;
  py::object frame = py::module_::import("sys").attr("_getframe")(0);
  for (; !frame.is_none(); frame = frame.attr("f_back"), ++level) {
    const py::object name = frame.attr("f_globals").attr("get")("__name__", "");
    if (!py::isinstance<py::str>(name)) break;
    const auto module = py::cast<std::string>(name);
    if (module != "relay" && !module.starts_with("relay.")) break;
  }
  return level;
}

py::object class_of(const char* name) { return py::module_::import("relay._relay").attr(name); }

struct Failure {
  const char* kind;
  std::string message, text;
  py::object slug = py::none(), span = py::none();
  std::vector<std::string> notes = {};
  std::vector<Said> diagnostics = {};
};

[[noreturn]] void raise(const Failure& failure) {
  const py::object type = class_of(failure.kind);
  const py::str text = utf8(failure.text);
  const py::object exception = type(text);
  exception.attr("message") = utf8(failure.message);
  exception.attr("text") = text;
  exception.attr("slug") = failure.slug;
  exception.attr("span") = failure.span;
  exception.attr("notes") = failure.notes;
  exception.attr("diagnostics") = failure.diagnostics;
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw py::error_already_set();
}

std::string trimmed_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string with_arguments(std::string text) {
  for (const std::string_view option : {kFuelOption, kDepthOption, kTimeOption, kMemoryOption}) {
    const size_t at = text.find(option);
    if (at == std::string::npos) continue;
    std::string argument = cat("(", option.substr(3));
    std::replace(argument.begin(), argument.end(), '-', '_');
    text.replace(at, option.size(), argument);
  }
  return text;
}

void raise_diagnostics(const Diagnostics& diagnostics, const SourceMap& sources) {
  Failure failure{.kind = "DiagnosticError",
                  .message = "it failed, and no reason was given",
                  .text = with_argument_function(trimmed_end(diagnostics.render(sources)))};
  bool found = false;
  for (const Diagnostic* d : diagnostics.in_order()) {
    failure.diagnostics.push_back(said(*d, sources));
    if (found || d->severity() != Severity::kError) continue;
    found = true;
    const Said& first = failure.diagnostics.back();
    failure.message = first.message;
    failure.slug = py::str(first.slug);
    failure.span = py::cast(first.span);
    failure.notes = first.notes;
  }
  if (failure.text.empty()) failure.text = failure.message;
  raise(failure);
}

void raise_trap(const std::string& message, Span at, const SourceMap& sources) {
  raise({.kind = "TrapError",
         .message = message,
         .text = text_of_trap(message, at, sources),
         .slug = py::cast(name_of_trap(message)),
         .span = py::cast(place_of(at, sources))});
}

void raise_limit(const std::string& message, Span at, const SourceMap& sources) {
  const std::string text = with_arguments(message);
  raise({.kind = "LimitError",
         .message = text,
         .text = text,
         .slug = py::cast(name_of_limit(message)),
         .span = py::cast(place_of(at, sources))});
}

void warn(const Diagnostics& diagnostics, const SourceMap& sources) {
  for (const Diagnostic* d : diagnostics.in_order()) {
    if (d->severity() != Severity::kWarning) continue;
    const std::string text = utf8(trimmed_end(render(*d, sources)));
    if (PyErr_WarnEx(class_of("DiagnosticWarning").ptr(), text.c_str(), level_of_caller()) != 0)
      throw py::error_already_set();
  }
}

void bind_errors(py::module_& m) {
  const auto add = [&](const char* name, py::handle base, const char* doc) {
    const std::string full = cat("relay.", name);
    m.attr(name) =
        py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(full.c_str(), doc, base.ptr(), nullptr));
  };
  add("Error", PyExc_Exception,
      "What goes wrong in Relay. Has `message`, `slug`, `span`, `notes`, `text` and `diagnostics`.");
  // Of one that a user made by hand.
  for (const char* part : {"message", "text"}) m.attr("Error").attr(part) = "";
  for (const char* part : {"slug", "span"}) m.attr("Error").attr(part) = py::none();
  for (const char* part : {"notes", "diagnostics"}) m.attr("Error").attr(part) = py::tuple();
  add("DiagnosticError", m.attr("Error"),
      "A model, an option or this machine is wrong. `slug` is explained by `relay explain SLUG`.");
  add("TrapError", m.attr("Error"),
      "The program ran and failed, for instance by an index out of its range. docs/python.md lists the "
      "slugs.");
  add("LimitError", m.attr("Error"),
      "A run reached a limit: of steps, depth, time or memory. docs/python.md lists the slugs.");
  add("DiagnosticWarning", PyExc_UserWarning, "Something about a model that is worth a look.");

  py::class_<Said>(m, "Diagnostic", "One message about a model.")
      .def_property_readonly("severity", [](const Said& s) { return s.is_error ? "error" : "warning"; })
      .def_readonly("slug", &Said::slug)
      .def_readonly("message", &Said::message)
      .def_readonly("span", &Said::span)
      .def_readonly("notes", &Said::notes)
      .def_readonly("text", &Said::text)
      .def("__repr__", [](const Said& s) { return trimmed_end(s.text); })
      .def(py::pickle(
          [](const Said& s) {
            return py::make_tuple(s.is_error, s.slug, s.message, s.text, s.span, s.notes);
          },
          [](const py::tuple& t) {
            return Said{t[0].cast<bool>(),
                        t[1].cast<std::string>(),
                        t[2].cast<std::string>(),
                        t[3].cast<std::string>(),
                        t[4].cast<std::optional<Place>>(),
                        t[5].cast<std::vector<std::string>>()};
          }));
}

}  // namespace relay::python
