#include "python/refusals.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// Splits where the separator stands outside of brackets and texts.
std::vector<std::string> split(std::string_view text, char separator = ',') {
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
    } else if (c == separator && depth == 0) {
      out.emplace_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (begin < text.size()) out.emplace_back(text.substr(begin));
  for (std::string& part : out) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
  }
  return out;
}

// Since version 3, pybind11 calls types as Python 3.10 does. The names here are those of before.
std::string with_old_names(std::string signature) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"typing.SupportsInt | typing.SupportsIndex", "int"},
      {"os.PathLike | str | bytes", "os.PathLike"},
      {"collections.abc.Sequence[", "List["},
      {"collections.abc.Mapping[", "Dict["},
      {"collections.abc.Sequence", "sequence"},
      {"collections.abc.Callable", "function"},
  };
  for (const auto& [now, before] : kNames) {
    for (size_t at = 0; (at = signature.find(now, at)) != std::string::npos; at += before.size())
      signature.replace(at, now.size(), before);
  }
  return signature;
}

Parameters parameters_of(const Record& record) {
  const std::string text = with_old_names(record.signature);
  const std::string_view signature = text;
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

// The types that a value of this one may be of, each by itself: of "Optional[int]" and "int | None"
// int and None.
std::vector<std::string> alternatives(const std::string& type) {
  if (const auto of = inside(type, "Optional")) return {*of, "None"};
  if (const auto of = inside(type, "Union")) return split(*of);
  return split(type, '|');
}

// A class of the package, as "relay._relay.Module".
py::object class_named(const std::string& type) {
  const std::string_view package = "relay._relay.";
  if (!type.starts_with(package)) return py::none();
  return py::getattr(py::module_::import("relay._relay"), type.substr(package.size()).c_str(), py::none());
}

// What the type is called in messages.
std::string shown(const std::string& type) {
  if (const std::vector<std::string> any = alternatives(type); any.size() > 1)
    return join(any, " or ", shown);
  if (type == "None") return type;
  if (type == "str") return "a str";
  if (type == "int") return "an integer";
  if (type == "bool") return "True or False";
  if (type == "os.PathLike") return "a path";
  if (type == "function") return "a function";
  if (type.starts_with("relay._relay.")) return cat("a relay.", type.substr(13));
  if (const auto of = inside(type, "List")) return cat("a list, each element ", shown(*of));
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
  if (const std::vector<std::string> any = alternatives(type); any.size() > 1) {
    std::vector<std::string> reasons;
    for (const std::string& one : any) {
      const std::string reason = misfit(one, value, narrow);
      if (reason.empty()) return {};
      if (one != "None") reasons.push_back(reason);
    }
    return reasons.size() == 1 ? reasons[0] : wrong_type;
  }
  if (type == "None") return unless(value.is_none());
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

// What pybind11 holds of the function that this is the `self` of; null if it is none of its own.
// That is a capsule, since version 3 an object of its own type.
const Record* record_of(PyObject* self) {
#if PYBIND11_VERSION_MAJOR >= 3
  return py::detail::function_record_ptr_from_PyObject(self);
#else
  const char* const kind = py::detail::get_function_record_capsule_name();
  return PyCapsule_IsValid(self, kind) ? static_cast<const Record*>(PyCapsule_GetPointer(self, kind))
                                       : nullptr;
#endif
}

struct Given {
  py::tuple args;
  py::dict named;
};

// A call failed. If its arguments fit no parameter, the error becomes one that says which and why.
template <class GivenOf>
void improve_error(PyObject* self, const GivenOf& given) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  py::error_already_set error;
  try {
    const Record* const record = record_of(self);
    const auto text = py::cast<std::string>(py::str(error.value()));
    if (text.starts_with(cat(record->name, "(): incompatible ")) && !record->next) {
      const Given call = given();
      if (const std::string why = explained(*record, call.args, call.named); !why.empty()) {
        PyErr_SetString(PyExc_TypeError, why.c_str());
        return;
      }
    }
  } catch (...) {
    PyErr_Clear();  // an argument cannot even be looked at: pybind11's own text is what is left
  }
  error.restore();
}

// pybind11 has one function for all calls. It takes a tuple and a dict; since version 3.1 an array,
// in which the values of the names come last.
using Array = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
PyCFunctionWithKeywords dispatcher = nullptr;
Array array_dispatcher = nullptr;

PyObject* call(PyObject* self, PyObject* args, PyObject* named) {
  PyObject* result = dispatcher(self, args, named);
  if (!result) {
    improve_error(self, [&] {
      return Given{py::reinterpret_borrow<py::tuple>(args),
                   named ? py::reinterpret_borrow<py::dict>(named) : py::dict()};
    });
  }
  return result;
}

PyObject* call_array(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* result = array_dispatcher(self, args, count, names);
  if (!result) {
    improve_error(self, [&] {
      Given out{py::tuple(static_cast<size_t>(count)), {}};
      for (Py_ssize_t i = 0; i < count; ++i)
        out.args[static_cast<size_t>(i)] = py::reinterpret_borrow<py::object>(args[i]);
      for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
        out.named[PyTuple_GET_ITEM(names, i)] = py::handle(args[count + i]);
      return out;
    });
  }
  return result;
}

void explain(py::handle function) {
  const py::handle found = py::detail::get_function(function);
  if (!found || !PyCFunction_Check(found.ptr())) return;
  const py::handle self = PyCFunction_GET_SELF(found.ptr());
  if (!self || !record_of(self.ptr())) return;
  using Any = void (*)();
  PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(found.ptr())->m_ml;
  const bool is_array = (definition->ml_flags & METH_FASTCALL) != 0;
  const auto ours = is_array ? reinterpret_cast<Any>(call_array) : reinterpret_cast<Any>(call);
  const auto calls = reinterpret_cast<Any>(definition->ml_meth);
  if (calls == ours) return;
  if (is_array)
    array_dispatcher = reinterpret_cast<Array>(calls);
  else
    dispatcher = reinterpret_cast<PyCFunctionWithKeywords>(calls);
  definition->ml_meth = reinterpret_cast<PyCFunction>(ours);
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
