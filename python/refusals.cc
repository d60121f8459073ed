#include "python/refusals.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "base/counted.h"
#include "python/make.h"

namespace relay::python {
namespace {

namespace py = pybind11;
using Record = py::detail::function_record;

// --- signatures ----------------------------------------------------------------------------------

// A parameter, as the signature that pybind11 writes has it: `level: int = 2`. This text is the
// only place where pybind11 keeps the types.
struct Parameter {
  std::string name, type;
  std::string standard = {};  // the default, as a text of Python; empty if there is none
  bool by_name_only = false;
};
struct Parameters {
  std::vector<Parameter> all;
  bool takes_more = false;        // *args
  bool takes_more_names = false;  // **kwargs
};

// Splits at commas outside of brackets and texts.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '(' || c == '{') {
      ++depth;
    } else if (c == ']' || c == ')' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.emplace_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (begin < text.size()) out.emplace_back(text.substr(begin));
  for (std::string& part : out) part.erase(0, part.find_first_not_of(' '));
  return out;
}

Parameters parameters_of(const Record& record) {
  const std::string_view signature = record.signature;
  const size_t open = signature.find('('), close = signature.rfind(") -> ");
  Parameters out;
  if (open == std::string_view::npos || close == std::string_view::npos) return out;
  bool by_name_only = false;
  for (const std::string& part : split(signature.substr(open + 1, close - open - 1))) {
    if (part == "/") continue;
    if (part.starts_with("**")) {
      out.takes_more_names = true;
    } else if (part.starts_with("*")) {
      out.takes_more |= part != "*";
      by_name_only = true;
    } else {
      const size_t colon = part.find(": "), equal = part.find(" = ");
      if (colon == std::string::npos) continue;
      const size_t end = std::min(equal, part.size());
      out.all.push_back({part.substr(0, colon), part.substr(colon + 2, end - colon - 2),
                         equal == std::string::npos ? "" : part.substr(equal + 3), by_name_only});
    }
  }
  return out;
}

// --- types ---------------------------------------------------------------------------------------

// The text between the brackets of "List[int]", if the type begins so.
std::optional<std::string> inside(const std::string& type, std::string_view generic) {
  if (!type.starts_with(cat(generic, "["))) return std::nullopt;
  return type.substr(generic.size() + 1, type.size() - generic.size() - 2);
}

// A class of the package, as "relay._relay.Module".
py::object class_named(const std::string& type) {
  const std::string_view package = "relay._relay.";
  if (!type.starts_with(package)) return py::none();
  return py::getattr(py::module_::import("relay._relay"), type.substr(package.size()).c_str(), py::none());
}

// What the type is called in messages.
std::string shown(const std::string& type) {
  if (type == "str") return "a str";
  if (type == "int") return "an integer";
  if (type == "bool") return "True or False";
  if (type == "os.PathLike") return "a path";
  if (type == "function") return "a function";
  if (type.starts_with("relay._relay.")) return cat("a relay.", type.substr(13));
  if (const auto of = inside(type, "Optional")) return cat(shown(*of), " or None");
  if (const auto of = inside(type, "List")) return cat("a list, each element ", shown(*of));
  if (const auto of = inside(type, "Union")) {
    std::string out;
    for (const std::string& one : split(*of)) out += cat(out.empty() ? "" : " or ", shown(one));
    return out;
  }
  if (const auto of = inside(type, "Dict")) {
    const std::vector<std::string> parts = split(*of);
    return cat("a dict from ", shown(parts[0]), " to ", shown(parts[1]));
  }
  return cat("a ", type);
}

bool is_size(py::handle number) {
  int beyond = 0;
  const long long n = PyLong_AsLongLongAndOverflow(number.ptr(), &beyond);
  return beyond == 0 && n >= 0 && n <= INT32_MAX;
}

bool is_text(py::handle value) { return PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()); }

// Functions of Python raise something where a value does not fit.
bool succeeds(bool done) {
  if (!done) PyErr_Clear();
  return done;
}

// False for a text with half of a surrogate pair.
bool is_utf8(py::handle value) {
  return !PyUnicode_Check(value.ptr()) || succeeds(PyUnicode_AsUTF8(value.ptr()) != nullptr);
}

bool has_truth_value(py::handle value) {
  const PyNumberMethods* methods = Py_TYPE(value.ptr())->tp_as_number;
  const bool is_asked = value.is_none() || (methods && methods->nb_bool);
  return is_asked && succeeds(PyObject_IsTrue(value.ptr()) >= 0);
}

// A whole number, also of NumPy's, as one of Python's; null for another value.
py::object index_of(py::handle value) {
  auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  return succeeds(static_cast<bool>(number)) ? number : py::object();
}

bool is_path(py::handle value) {
  PyObject* bytes = nullptr;
  if (!succeeds(PyUnicode_FSConverter(value.ptr(), &bytes) != 0)) return false;
  Py_DECREF(bytes);
  return true;
}

// What is wrong with a value for a parameter of this type, or an empty text. Types that are not
// known here fit. `narrow`: numbers that 31 bits do not hold are wrong, too.
std::string misfit(const std::string& type, py::handle value, bool narrow) {
  const std::string wrong_type = cat("is of the type ", class_name(value));
  const auto each = [&](const py::iterable& values, const std::string& of) -> std::string {
    for (const py::handle item : values) {
      if (std::string wrong = misfit(of, item, narrow); !wrong.empty())
        return cat("has an item that ", wrong);
    }
    return {};
  };
  const auto unless = [&](bool fits) { return fits ? std::string() : wrong_type; };
  if (type == "str") return is_utf8(value) ? unless(is_text(value)) : "is a text that UTF-8 cannot hold";
  if (type == "tuple") return unless(PyTuple_Check(value.ptr()));
  if (type == "dict") return unless(PyDict_Check(value.ptr()));
  if (type == "sequence") return unless(PySequence_Check(value.ptr()));
  if (type == "function") return unless(PyCallable_Check(value.ptr()));
  if (type == "bool") return unless(has_truth_value(value));
  if (type == "os.PathLike")
    return is_text(value) && !is_path(value) ? "is a text that no path can be" : unless(is_path(value));
  if (type == "int") {
    const py::object number = index_of(value);
    if (!number) return wrong_type;
    return narrow && !is_size(number) ? cat("is ", std::string(py::str(number)), ", which is out of range")
                                      : "";
  }
  if (const auto of = inside(type, "Optional")) return value.is_none() ? "" : misfit(*of, value, narrow);
  if (const auto of = inside(type, "List")) {
    const bool is_list = PySequence_Check(value.ptr()) && !is_text(value) && !PyDict_Check(value.ptr());
    return is_list ? each(py::reinterpret_borrow<py::iterable>(value), *of) : wrong_type;
  }
  if (const auto of = inside(type, "Dict")) {
    if (!PyDict_Check(value.ptr())) return wrong_type;
    const auto dict = py::reinterpret_borrow<py::dict>(value);
    const std::vector<std::string> parts = split(*of);
    std::string wrong = each(dict.attr("keys")(), parts[0]);
    return wrong.empty() ? each(dict.attr("values")(), parts[1]) : wrong;
  }
  if (const auto of = inside(type, "Union")) {
    for (const std::string& one : split(*of)) {
      if (misfit(one, value, narrow).empty()) return {};
    }
    return wrong_type;
  }
  const py::object kind = class_named(type);
  return kind.is_none() ? "" : unless(py::isinstance(value, kind));
}

// --- calls ---------------------------------------------------------------------------------------

std::string name_of(const Record& record) {
  if (!PyType_Check(record.scope.ptr())) return cat("relay.", record.name);
  const auto owner = py::cast<std::string>(record.scope.attr("__name__"));
  return record.is_constructor ? cat("relay.", owner) : cat("relay.", owner, ".", record.name);
}

// As messages have it. pybind11 calls what has no name `arg0`.
std::string shown(const Parameter& p) {
  const bool is_number =
      p.name.starts_with("arg") && p.name.size() > 3 &&
      std::all_of(p.name.begin() + 3, p.name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? cat("argument ", std::stoi(p.name.substr(3)) + 1) : cat("argument `", p.name, "`");
}

std::string names_of(const Parameters& parameters) {
  std::string out;
  for (const Parameter& p : parameters.all) {
    if (p.name != "self") out += cat(out.empty() ? "" : ", ", "`", p.name, "`");
  }
  return out.empty() ? "it takes none" : cat("it takes ", out);
}

// Why the arguments do not fit the function, or an empty text.
std::string explained(const Record& record, const py::tuple& args, const py::dict& named) {
  const Parameters parameters = parameters_of(record);
  const std::string name = name_of(record);
  std::vector<py::object> given(parameters.all.size());
  const auto is_placed = [](const Parameter& p) { return !p.by_name_only; };
  const auto places =
      static_cast<size_t>(std::count_if(parameters.all.begin(), parameters.all.end(), is_placed));
  if (args.size() > places && !parameters.takes_more) {
    const size_t self = places > 0 && parameters.all[0].name == "self" ? 1 : 0;
    const size_t taken = places - self;
    return cat(name, " takes ", counted(taken, "positional argument"), ", and ", args.size() - self,
               " are given: ", names_of(parameters));
  }
  for (size_t i = 0; i < std::min(args.size(), places); ++i) given[i] = args[i];
  for (const auto& [key, value] : named) {
    const std::string wanted = py::str(key);
    const auto at = std::find_if(parameters.all.begin(), parameters.all.end(),
                                 [&](const Parameter& p) { return p.name == wanted; });
    if (at == parameters.all.end()) {
      if (parameters.takes_more_names) continue;
      return cat(name, " has no argument `", wanted, "`: ", names_of(parameters));
    }
    py::object& place = given[static_cast<size_t>(at - parameters.all.begin())];
    if (place) return cat("argument `", wanted, "` of ", name, " is given by its place and by its name");
    place = py::reinterpret_borrow<py::object>(value);
  }
  for (const bool narrow : {false, true}) {
    for (size_t i = 0; i < given.size(); ++i) {
      const Parameter& p = parameters.all[i];
      if (!given[i] && p.standard.empty()) return cat(shown(p), " of ", name, " is missing");
      if (!given[i] || (p.standard == "None" && given[i].is_none())) continue;
      if (const std::string wrong = misfit(p.type, given[i], narrow); !wrong.empty())
        return cat(shown(p), " ", wrong, ", and ", name, " takes ", shown(p.type));
    }
  }
  return {};
}

// pybind11's function for all calls.
PyCFunctionWithKeywords dispatcher = nullptr;

PyObject* call(PyObject* self, PyObject* args, PyObject* named) {
  PyObject* result = dispatcher(self, args, named);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  py::error_already_set error;
  try {
    const auto* record = static_cast<const Record*>(
        PyCapsule_GetPointer(self, py::detail::get_function_record_capsule_name()));
    const auto text = py::cast<std::string>(py::str(error.value()));
    const bool is_of_pybind11 = text.starts_with(cat(record->name, "(): incompatible ")) && !record->next;
    std::string why;
    if (is_of_pybind11) {
      why = explained(*record, py::reinterpret_borrow<py::tuple>(args),
                      named ? py::reinterpret_borrow<py::dict>(named) : py::dict());
    }
    if (!why.empty()) {
      PyErr_SetString(PyExc_TypeError, why.c_str());
      return nullptr;
    }
  } catch (...) {
    PyErr_Clear();  // an argument cannot even be looked at: pybind11's own text is what is left
  }
  error.restore();
  return nullptr;
}

void explain(py::handle function) {
  const py::handle found = py::detail::get_function(function);
  if (!found || !PyCFunction_Check(found.ptr())) return;
  const py::handle self = PyCFunction_GET_SELF(found.ptr());
  if (!self || !PyCapsule_IsValid(self.ptr(), py::detail::get_function_record_capsule_name())) return;
  PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(found.ptr())->m_ml;
  const auto calls =
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(definition->ml_meth));
  if (calls == call) return;
  dispatcher = calls;
  definition->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

}  // namespace

void explain_refusals(py::module_& m) {
  for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(m.attr("__dict__"))) {
    explain(value);
    if (!PyType_Check(value.ptr())) continue;
    for (const auto& [member, function] : py::dict(value.attr("__dict__"))) explain(function);
  }
}

}  // namespace relay::python
