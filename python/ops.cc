// relay.ops: op/registry.h. Each operator is a function of Python, made from its
// entry in the table.
#include <pybind11/stl.h>

#include <algorithm>
#include <deque>
#include <map>
#include <new>
#include <variant>

#include "base/cat.h"
#include "base/counted.h"
#include "base/nearest.h"
#include "op/apply.h"
#include "op/document.h"
#include "op/registry.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/make.h"
#include "python/tensors.h"
#include "python/types.h"

namespace relay::python {
namespace {

using Named = std::vector<std::pair<std::string, py::object>>;

// --- attributes ----------------------------------------------------------------------------------

// An attribute as Python gave it. Reading it runs the user's code (`__index__`, `__float__`,
// `tolist`), which may use the program: so it is read before the program is held.
struct Said {
  std::variant<std::monostate, bool, int64_t, double, std::string, DType, DimHandle, std::vector<Said>> value;
};

Said said_by(py::handle value, const std::string& what) {
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr())) return {py::cast<bool>(value)};
  if (py::isinstance<py::str>(value)) return {std::string(py::str(value))};
  if (py::isinstance<DimHandle>(value)) return {py::cast<const DimHandle&>(value)};
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    const Nesting deeper;
    std::vector<Said> items;
    for (const py::object item : py::reinterpret_borrow<py::sequence>(value))
      items.push_back(said_by(item, what));
    return {std::move(items)};
  }
  if (PyType_Check(value.ptr()) || py::isinstance<py::dtype>(value)) return {dtype_of(value, what)};
  if (py::isinstance<py::array>(value)) return said_by(value.attr("tolist")(), what);
  if (PyIndex_Check(value.ptr())) return {integer_of(value, what)};
  if (py::hasattr(value, "__float__"))
    return {py::cast<double>(py::float_(py::reinterpret_borrow<py::object>(value)))};
  throw py::type_error(
      cat(what, " is of the type ", class_name(value),
          ": attributes are constants of the program: numbers, texts, lists of these, None"));
}

// The same as a value of the program's context, which is held.
struct InProgram {
  const Home& home;
  bool takes_extents;  // a text is one
  const std::string& what;

  AttrValue operator()(std::monostate) const { return {}; }
  AttrValue operator()(const std::string& text) const {
    return takes_extents ? dim(py::str(text)) : home.context().attr_value(text);
  }
  AttrValue operator()(const DimHandle& extent) const { return dim(py::cast(extent)); }
  AttrValue operator()(const std::vector<Said>& given) const {
    std::vector<AttrValue> items;
    for (const Said& item : given) items.push_back(std::visit(*this, item.value));
    return home.context().attr_list(items);
  }
  template <class T>
  AttrValue operator()(const T& value) const {
    return home.context().attr_value(value);
  }

 private:
  AttrValue dim(const py::object& extent) const {
    return home.context().attr_value(dim_of(home.module, extent, what));
  }
};

[[noreturn]] void refuse_name(const op::OpDef& op, const std::string& name) {
  for (const op::Param& p : op.params) {
    if (p.name == name)
      throw py::type_error(cat("`", op.name, "`: the argument `", name, "` is given by its position"));
  }
  if (op.attrs.empty())
    throw py::type_error(cat("`", op.name, "` has no attributes, and `", name, "` is given"));
  const auto names = names_of(op.attrs, [](const op::AttrField& a) { return a.name; });
  const std::string meant = did_you_mean(name, names);
  throw py::type_error(cat("`", op.name, "` has no attribute `", name, "`",
                           meant.empty() ? cat("; there are ", join(names, ", ")) : cat(": ", meant)));
}

const op::AttrField& field_of(const op::OpDef& op, const std::string& name) {
  for (const op::AttrField& field : op.attrs) {
    if (field.name == name) return field;
  }
  refuse_name(op, name);
}

std::string attribute_name(const op::OpDef& op, const std::string& attribute) {
  return cat("`", op.name, "`: attribute `", attribute, "`");
}

std::vector<Said> said_by(const op::OpDef& op, const Named& named) {
  std::vector<Said> out;
  for (const auto& [name, value] : named) {
    const std::string what = attribute_name(op, name);
    if (py::isinstance<ExprHandle>(value))
      throw py::type_error(cat(what, " is an expression, and attributes are constants of the program"));
    if (py::isinstance<py::str>(value) && field_of(op, name).type == "dtype")
      refuse_two_meanings(py::str(value), what);
    out.push_back(said_by(value, what));
  }
  return out;
}

// Holds the program, so nothing here runs the user's code.
Attrs attrs_of(const Home& home, const op::OpDef& op, const Named& named, const std::vector<Said>& said) {
  const auto lock = hold(home);
  std::vector<AttrArg> out;
  for (size_t i = 0; i < said.size(); ++i) {
    const std::string& name = named[i].first;
    const std::string what = attribute_name(op, name);
    const bool takes_extents = field_of(op, name).type.find("dim") != std::string::npos;
    out.push_back({name, std::visit(InProgram{home, takes_extents, what}, said[i].value)});
  }
  const Attrs attrs = home.context().attrs(out);
  for (const op::AttrError& wrong : op.check_attrs(attrs))
    throw py::type_error(cat("`", op.name, "`: attribute `", wrong.name, "` ", wrong.reason));
  return attrs;
}

// --- arguments -----------------------------------------------------------------------------------

void check_count(const op::OpDef& op, size_t given) {
  if (given == op.params.size()) return;
  const auto names = names_of(op.params, [](const op::Param& p) { return p.name; });
  const std::string why = given < names.size() ? cat(": `", names[given], "` is missing") : std::string();
  throw py::type_error(cat("`", op.name, "` takes ", counted(names.size(), "argument"),
                           names.empty() ? "" : cat(" (", join(names, ", "), ")"), ", and ", given,
                           given == 1 ? " is" : " are", " given", why));
}

// The type whose dtype numbers among the arguments take: where operands broadcast, that of the last
// which is no truth value. Raises TypeError if it is not known.
Type type_of_numbers(const HomeRef& home, const op::OpDef& op, const std::vector<Expr>& args) {
  if (op.fusion != op::Fusion::kBroadcast) return nullptr;
  for (size_t i = args.size(); i-- > 0;) {
    if (!args[i]) continue;
    const Type type = find_type(home, args[i]);
    if (!type) {
      throw py::type_error(
          cat("`", op.name, "`: the type of `", op.params[i].name,
              "` is not known here, so the number beside it has no dtype: give it one, as "
              "relay.const(1, \"int64\"), or give types to the function's parameters and result"));
    }
    const auto* tensor = type->as<TensorType>();
    if (tensor && !tensor->dtype.is_bool()) return type;
  }
  return nullptr;
}

std::vector<Expr> exprs_of(const HomeRef& home, const op::OpDef& op, const std::vector<py::object>& args) {
  const auto what = [&](size_t i) { return cat("`", op.name, "`: argument `", op.params[i].name, "`"); };
  std::vector<Expr> out(args.size());
  bool numbers = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (is_number(args[i]) || is_float64(args[i]) || py::isinstance<DimHandle>(args[i])) {
      numbers = true;
    } else {
      out[i] = expr_of(home, args[i], nullptr, what(i));
    }
  }
  if (!numbers) return out;
  const Type like = type_of_numbers(home, op, out);
  for (size_t i = 0; i < args.size(); ++i) {
    if (!out[i]) out[i] = expr_of(home, args[i], like, what(i));
  }
  return out;
}

[[noreturn]] void refuse_types(const HomeRef& home, const ExprHandle& call, const op::OpDef& op,
                               const op::RelationError& error) {
  find_type(home, call.node);  // the checker says more, with the places of the arguments
  Diagnostics diagnostics;
  diagnostics.error(call.node->span, error.slug.value_or(Slug("bad-argument")),
                    cat("`", op.name, "`: ", error.reason));
  raise_diagnostics(diagnostics, home->context().sources());
}

}  // namespace

ExprHandle apply(const op::OpDef& op, const std::vector<py::object>& args, const Named& named) {
  for (const auto& [name, value] : named) field_of(op, name);
  check_count(op, args.size());
  const HomeRef home = home_of(args);
  const std::vector<Expr> exprs = exprs_of(home, op, args);
  const Attrs attrs = attrs_of(*home, op, named, said_by(op, named));
  std::vector<Type> types;
  for (const Expr e : exprs) types.push_back(known_type(*home, e));
  Type type = nullptr;
  std::optional<op::RelationError> wrong;
  // Of type parameters only the checker knows what the function's `where` says.
  const auto is_known = [](Type t) { return t && !t->has_type_var; };
  if (std::all_of(types.begin(), types.end(), is_known)) {
    const auto lock = hold(*home);
    try {
      type = op::infer(home->context(), op, types, attrs);
    } catch (const op::RelationError& error) {
      wrong = error;
    }
  }
  const ExprHandle call = make(home, [&](Builder& b) { return b.call(b.op(op), exprs, attrs, type); });
  if (wrong) refuse_types(home, call, op, *wrong);
  return call;
}

namespace {

// --- functions -----------------------------------------------------------------------------------

// Is the default a literal of Python? Infinities are not.
bool is_literal(const std::string& text) { return text.find("inf") == std::string::npos || text[0] == '"'; }

// An argument of some operators has an attribute's name.
std::string name_of(const op::OpDef& op, const op::Param& p) {
  const auto is_same = [&](const op::AttrField& a) { return a.name == p.name; };
  return cat(p.name, std::any_of(op.attrs.begin(), op.attrs.end(), is_same) ? "_" : "");
}

std::string signature(const op::OpDef& op) {
  std::vector<std::string> parts;
  for (const op::Param& p : op.params) parts.push_back(name_of(op, p));
  if (!parts.empty()) parts.push_back("/");
  if (!op.attrs.empty()) parts.push_back("*");
  for (const op::AttrField& a : op.attrs) {
    const std::string value = is_literal(a.default_text) ? a.default_text : "...";
    parts.push_back(a.default_text.empty() ? a.name : cat(a.name, "=", value));
  }
  return cat("(", join(parts, ", "), ")");
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// What Python's own functions keep for as long as the process lives.
struct Function {
  std::string name, doc;
  PyMethodDef def;
};

PyObject* call_operator(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  try {
    const auto* op = static_cast<const op::OpDef*>(PyCapsule_GetPointer(self, nullptr));
    std::vector<py::object> given;
    for (Py_ssize_t i = 0; i < count; ++i) given.push_back(py::reinterpret_borrow<py::object>(args[i]));
    Named named;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
      named.emplace_back(py::str(py::handle(PyTuple_GET_ITEM(names, i))),
                         py::reinterpret_borrow<py::object>(args[count + i]));
    }
    return py::cast(apply(*op, given, named)).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

py::object function_of(const op::OpDef& op, py::handle module_name) {
  static auto* const all = new std::deque<Function>();  // Python refers to them until it ends
  Function& f = all->emplace_back();
  f.name = last_part(op.name);
  f.doc = cat(f.name, signature(op), "\n--\n\n", op::description(op));
  f.def = {f.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call_operator)),
           METH_FASTCALL | METH_KEYWORDS, f.doc.c_str()};
  const auto self =
      py::reinterpret_steal<py::object>(PyCapsule_New(const_cast<op::OpDef*>(&op), nullptr, nullptr));
  return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&f.def, self.ptr(), module_name.ptr()));
}

// The module of this name, in the one that its name begins with.
py::module_ module_of(const std::string& name) {
  const auto found = py::reinterpret_borrow<py::module_>(PyImport_AddModule(name.c_str()));
  const size_t dot = name.rfind('.');
  if (name != "relay.ops") module_of(name.substr(0, dot)).attr(name.substr(dot + 1).c_str()) = found;
  return found;
}

std::string family(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// Names that a module of operators has not: what is meant instead.
void add_getattr(py::module_& module, const std::string& prefix) {
  module.attr("__getattr__") = py::cpp_function([prefix](const std::string& name) -> py::object {
    const std::string full = cat(prefix, name);
    std::string meant = name.starts_with("__") ? std::string() : join(op::nearest(full), " or ");
    if (!meant.empty()) meant = cat("; did you mean ", meant, "?");
    PyErr_SetString(PyExc_AttributeError, cat("there is no operator `", full, "`", meant).c_str());
    throw py::error_already_set();
  });
}

// --- the stub ------------------------------------------------------------------------------------

std::string python_type(const op::AttrField& field) {
  static const std::map<std::string, std::string> kTypes = {
      {"bool", "bool"}, {"int", "int"},    {"float", "float"},    {"string", "str"}, {"dtype", "_DType"},
      {"dim", "_Dim"},  {"ints", "_Ints"}, {"floats", "_Floats"}, {"dims", "_Dims"}, {"strings", "_Strings"},
  };
  std::string type = field.type;
  const bool optional = type.ends_with('?');
  if (optional) type.pop_back();
  const auto found = kTypes.find(type);
  return cat(found == kTypes.end() ? "Any" : found->second, optional ? " | None" : "");
}

std::string stub_of(const op::OpDef& op, const std::string& indent) {
  std::vector<std::string> parts;
  for (const op::Param& p : op.params) parts.push_back(cat(name_of(op, p), ": _Value"));
  if (!parts.empty()) parts.push_back("/");
  if (!op.attrs.empty()) parts.push_back("*");
  for (const op::AttrField& a : op.attrs)
    parts.push_back(cat(a.name, ": ", python_type(a), a.default_text.empty() ? "" : " = ..."));
  return cat(indent.empty() ? "" : cat(indent, "@staticmethod\n"), indent, "def ", last_part(op.name), "(",
             join(parts, ", "), ") -> Expr: ...\n");
}

// Families of operators are classes in it, for type checkers and editors.
std::string stub_of_family(const std::string& prefix, const std::string& indent) {
  std::string out;
  std::vector<std::string> inner;
  for (const op::OpDef* op : op::all_ops()) {
    const std::string of = family(op->name);
    if (of == prefix) out += stub_of(*op, indent);
    if (!(prefix.empty() ? !of.empty() : of.starts_with(cat(prefix, ".")))) continue;
    const size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
    std::string next = of.substr(begin, of.find('.', begin) - begin);
    if (std::find(inner.begin(), inner.end(), next) == inner.end()) inner.push_back(std::move(next));
  }
  std::sort(inner.begin(), inner.end());
  for (const std::string& name : inner) {
    out += cat("\n", indent, "class ", name, ":\n",
               stub_of_family(prefix.empty() ? name : cat(prefix, ".", name), indent + "    "));
  }
  return out;
}

std::string stub() {
  return cat(
      "\"\"\"Types of relay.ops. Generated: docs/python.md says how.\"\"\"\n\n"
      "from collections.abc import Sequence\nfrom typing import Any, TypeAlias\n\n"
      "from relay._relay import Dim, Expr, _DType, _Value\n\n"
      "_Dim: TypeAlias = int | str | Dim\n"
      "_Ints: TypeAlias = int | Sequence[int]\n"
      "_Floats: TypeAlias = float | Sequence[float]\n"
      "_Dims: TypeAlias = _Dim | Sequence[_Dim]\n"
      "_Strings: TypeAlias = str | Sequence[str]\n\n",
      stub_of_family("", ""));
}

}  // namespace

void bind_ops(py::module_& m) {
  py::module_ root = module_of("relay.ops");
  root.attr("__doc__") = "The operators of the language, each a function that makes a call of it.";
  add_getattr(root, "");
  for (const op::OpDef* op : op::all_ops()) {
    const std::string of = family(op->name);
    const std::string name = of.empty() ? "relay.ops" : cat("relay.ops.", of);
    py::module_ in = module_of(name);
    if (!of.empty() && !py::hasattr(in, "__getattr__")) add_getattr(in, of + ".");
    in.attr(last_part(op->name).c_str()) = function_of(*op, py::str(name));
  }
  m.attr("ops") = root;
  m.def("_ops_stub", &stub, "The text of relay/ops.pyi.");
}

}  // namespace relay::python
