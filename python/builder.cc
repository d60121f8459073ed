// relay.Builder and relay.trace: whole programs, ir/module.h.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/module.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/make.h"
#include "python/model.h"
#include "python/recording.h"
#include "python/tensors.h"
#include "python/types.h"
#include "typecheck/read.h"

namespace relay::python {
namespace {

// --- data types ----------------------------------------------------------------------------------

struct Constructors {
  HomeRef home;
  const DataTypeDef* def;
};

ConstructorHandle constructor_of(const Constructors& all, const std::string& name) {
  for (const Constructor* c : all.def->ctors) {
    if (c->name == name) return {all.home, c};
  }
  const std::string there = join(all.def->ctors, ", ", [](const Constructor* c) { return c->name.str(); });
  PyErr_SetString(PyExc_AttributeError,
                  cat(all.def->name.text(), " has no constructor ", name, "; there are ", there).c_str());
  throw py::error_already_set();
}

ExprHandle construct(const ConstructorHandle& c, const py::args& args) {
  const Constructor& ctor = *c.ctor;
  if (args.size() != ctor.fields.size()) {
    throw py::type_error(cat("the constructor ", ctor.name.text(), " takes ", ctor.fields.size(),
                             " fields, and ", args.size(), " are given"));
  }
  std::vector<Expr> fields;
  for (const py::handle arg : args) {
    const size_t i = fields.size();
    fields.push_back(
        expr_of(c.home, arg, ctor.fields[i], cat("field ", i, " of the constructor ", ctor.name.text())));
  }
  const bool generic = !c.home->module.data_type(ctor.data_type.text())->params.empty();
  return make(c.home, [&](Builder& b) {
    const Type type = generic ? nullptr : b.context().data_type(ctor.data_type.text(), {});
    return b.call(b.ctor(ctor), fields, {}, type);
  });
}

// --- Builder -------------------------------------------------------------------------------------

void read_text(const HomeRef& home, const std::string& text, const std::string& name) {
  Diagnostics diagnostics;
  ParseOptions options;
  options.into = home->module;
  const Result<Module> read = typecheck::read(name, text, diagnostics, op::operators(), options);
  if (!read) raise_diagnostics(diagnostics, home->context().sources());
  home->module = *read;
}

HomeRef new_builder(const std::optional<std::string>& text) {
  const auto home = std::make_shared<Home>();
  home->recording = std::make_shared<Recording>();
  if (text) read_text(home, *text, "<text>");
  return home;
}

// A text keeps of a library what it mentions, so this one mentions the functions.
void add_library(const HomeRef& home, const std::string& name, const py::args& functions) {
  constexpr const char* kUser = "uses_of_a_library";
  if (functions.empty())
    throw py::type_error(cat("no function of the library \"", name, "\" is named: say which to add"));
  const std::string mentioned =
      join(functions, ", ", [](py::handle f) { return cat("@", std::string(py::str(f))); });
  read_text(home, cat("import \"", name, "\"\ndef @", kUser, "() { (", mentioned, ",) }"),
            cat("<functions of ", name, ">"));
  home->module.remove_function(kUser);
}

Constructors data_type(const HomeRef& home, const std::string& name) {
  if (const DataTypeDef* def = home->module.data_type(name)) return {home, def};
  throw py::key_error(cat("there is no data type ", name));
}

Constructors define_data(const HomeRef& home, const std::string& name, const py::args& parameters,
                         const py::kwargs& constructors) {
  std::vector<std::string> params, ctors;
  for (const py::handle p : parameters) params.push_back(py::str(p));
  for (const auto& [ctor, specs] : constructors) {
    const auto given = py::isinstance<py::str>(specs) || !py::isinstance<py::sequence>(specs)
                           ? py::make_tuple(py::reinterpret_borrow<py::object>(specs))
                           : py::tuple(py::reinterpret_borrow<py::object>(specs));
    std::vector<std::string> fields;
    for (const py::handle spec : given) {
      if (spec.is_none())
        throw py::type_error(cat("a field of the constructor ", std::string(py::str(ctor)),
                                 " is None: give its type, or () for a constructor without fields"));
      const bool is_text = py::isinstance<py::str>(spec);
      fields.push_back(is_text ? std::string(py::str(spec))
                               : print(type_of_spec(home->module, spec, "field")));
    }
    ctors.push_back(cat(std::string(py::str(ctor)), fields.empty() ? "" : cat("(", join(fields, ", "), ")")));
  }
  const std::string generic = params.empty() ? "" : cat("[", join(params, ", "), "]");
  read_text(home, cat("type ", name, generic, " { ", join(ctors, ", "), " }"), cat("<data type ", name, ">"));
  return data_type(home, name);
}

ExprHandle global(const HomeRef& home, const std::string& name) {
  const auto& late = home->recording->global;
  const auto found =
      std::find_if(late.begin(), late.end(), [&](const LateFunction& f) { return f.name == name; });
  const Fn* fn = home->module.function(name);
  if (found == late.end() && !fn) throw py::key_error(cat("there is no function @", name));
  const Type type = found != late.end() ? declared_type(home->context(), *found) : fn->type;
  return make(home, [&](Builder& b) { return b.global(name, type); });
}

ExprHandle define(const HomeRef& home, const py::function& body, const py::sequence& specs,
                  const py::object& result, const std::optional<std::string>& name) {
  LateFunction f = late_function(home, body, specs, result, name);
  const auto is_same = [&](const LateFunction& other) { return other.name == f.name; };
  auto& late = home->recording->global;
  if (home->module.function(f.name) || std::any_of(late.begin(), late.end(), is_same))
    throw py::value_error(cat("there is a function @", f.name, " already: give another `name`"));
  late.push_back(std::move(f));
  return global(home, late.back().name);
}

// Runs the bodies that have not run yet; these may define further functions.
void run_bodies(const HomeRef& home) {
  Recording& r = *home->recording;
  if (!r.scopes.empty()) throw py::type_error("Builder.module is called by a function of the program");
  while (r.made < r.global.size()) {
    const LateFunction f = r.global[r.made];
    if (home->module.function(f.name))  // from a library, since
      throw py::value_error(cat("there are two functions @", f.name));
    home->module.set_function(f.name, run_body(home, f, nullptr));
    // The function may refer to the program, which would keep both for ever.
    r.global[r.made++].body = py::function();
  }
}

Program module_of(const HomeRef& home, const std::optional<std::string>& function) {
  run_bodies(home);
  if (const std::vector<std::string> wrong = well_formed(home->module); !wrong.empty()) {
    throw py::type_error(
        cat("a value is used outside the function, branch or arm that it was made in: ", wrong[0]));
  }
  // The program goes on in a context of its own, without what was only tried.
  return checked_program(compact(home->module), "the program", function);
}

Program trace(const py::function& f, const py::object& specs, const py::object& result) {
  const HomeRef home = new_builder(std::nullopt);
  py::object given = specs;
  if (py::isinstance<py::dict>(specs)) {
    py::list ordered;
    for (const std::string& name : parameter_names(f)) {
      if (!specs.contains(name))
        throw py::type_error(cat("argument `specs` has no type for the parameter `", name, "`"));
      ordered.append(specs[name.c_str()]);
    }
    if (py::len(ordered) != py::len(specs))
      throw py::type_error("argument `specs` has types for parameters that the function has not");
    given = ordered;
  }
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) given = py::make_tuple(given);
  define(home, f, given, result, "main");
  return module_of(home, std::nullopt);
}

}  // namespace

void bind_builder(py::module_& m) {
  py::class_<ConstructorHandle>(m, "Constructor", "A constructor of a data type. Calling it makes a value.")
      .def_property_readonly("name", [](const ConstructorHandle& c) { return c.ctor->name.str(); })
      .def("__call__", &construct)
      .def("__eq__",
           [](const ConstructorHandle& a, py::handle b) {
             return py::isinstance<ConstructorHandle>(b) &&
                    py::cast<const ConstructorHandle&>(b).ctor == a.ctor;
           })
      .def("__hash__", [](const ConstructorHandle& c) { return std::hash<const void*>()(c.ctor); })
      .def("__repr__",
           [](const ConstructorHandle& c) { return cat("<relay.Constructor ", c.ctor->name.text(), ">"); });
  py::class_<Constructors>(m, "Constructors",
                           "The constructors of a data type, each by its name: `List.Nil`.")
      .def("__getattr__", &constructor_of)
      .def("__iter__",
           [](const Constructors& all) {
             py::list out;
             for (const Constructor* c : all.def->ctors) out.append(ConstructorHandle{all.home, c});
             return py::iter(out);
           })
      .def("__repr__",
           [](const Constructors& c) { return cat("<relay.Constructors of ", c.def->name.text(), ">"); });
  py::class_<Home, HomeRef>(m, "Builder", "A program under construction.")
      .def(py::init(&new_builder), py::arg("text") = py::none(),
           "Begins with the definitions of a text of the language.")
      .def("data", &define_data, py::arg("name"),
           "Defines a data type: `data(\"Tree\", Leaf=(), Node=(\"Tree\", \"int64\", \"Tree\"))`; its type "
           "parameters\n"
           "come after its name: `data(\"List\", \"A\", Nil=(), Cons=(\"A\", \"List[A]\"))`.")
      .def("data_type", &data_type, py::arg("name"), "The constructors of a data type.")
      .def(
          "function",
          [](const HomeRef& home, const py::args& specs, const py::object& result,
             const std::optional<std::string>& name) {
            return py::cpp_function([home, specs, result, name](const py::function& body) {
              return define(home, body, specs, result, name);
            });
          },
          py::kw_only(), py::arg("result") = py::none(), py::arg("name") = py::none(),
          "Decorates a function: `@builder.function(\"List[int64]\", result=\"int64\")`, with a type for "
          "each\n"
          "parameter. Its body runs once, with expressions, when `module` is called.")
      .def("library", &add_library, py::arg("name"),
           "Adds functions of a library of the language, and the data types that they mention:\n"
           "`builder.library(\"prelude\", \"map\", \"foldl\")`, then `builder[\"map\"]`.")
      .def("__getitem__", &global, py::arg("name"), "The function of this name.")
      .def("module", &module_of, py::arg("function") = py::none(),
           "The program, type checked. `function` is run: \"main\" unless it is said. Raises "
           "DiagnosticError.");
  m.def("trace", &trace, py::arg("function"), py::arg("specs"), py::arg("result") = py::none(),
        "The module whose @main does what `function` does to expressions of these types.\n\n"
        "`specs`: a type for each parameter, as a list, or by name. A type is a text of the language, a "
        "relay.Type,\n"
        "or an array, whose shape and dtype are meant. Raises DiagnosticError.");
}

}  // namespace relay::python
