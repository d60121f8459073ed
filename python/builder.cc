// relay.Builder and relay.trace: whole programs, ir/module.h.
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/module.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "python/bindings.h"
#include "python/collected.h"
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
    // What the parameters of a generic data type are, only the checker knows.
    const Type wanted = ctor.fields[i]->has_type_var ? nullptr : ctor.fields[i];
    fields.push_back(
        expr_of(c.home, arg, wanted, cat("field ", i, " of the constructor ", ctor.name.text())));
  }
  const bool generic = !c.home->module.data_type(ctor.data_type.text())->params.empty();
  return make(c.home, [&](Builder& b) {
    const Type type = generic ? nullptr : b.context().data_type(ctor.data_type.text(), {});
    return b.call(b.ctor(ctor), fields, {}, type);
  });
}

// --- Builder -------------------------------------------------------------------------------------

// A program under construction, as Python has it. Only this one makes modules. So the bodies that
// have not run go with it: they are Python's, and may refer to the program, or to this.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(HomeRef made) : home(std::move(made)) {}
  ~ProgramBuilder() { clear(); }
  ProgramBuilder(const ProgramBuilder&) = delete;
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  int visit(visitproc visit, void* arg) const {
    for (const LateFunction& f : home->recording->global) Py_VISIT(f.body.ptr());
    return 0;
  }
  void clear() {
    std::vector<py::function> bodies;  // end after the program has let go of them
    for (LateFunction& f : home->recording->global) bodies.push_back(std::exchange(f.body, py::function()));
  }

  const HomeRef home;
};

// A function of the program as a method.
template <class Result, class... Args>
auto of_home(Result (*function)(const HomeRef&, Args...)) {
  return [function](const ProgramBuilder& b, Args... args) -> Result {
    return function(b.home, std::forward<Args>(args)...);
  };
}

void read_text(const HomeRef& home, const std::string& text, const std::string& name) {
  Diagnostics diagnostics;
  ParseOptions options;
  options.into = home->module;
  const Result<Module> read = typecheck::read(name, text, diagnostics, op::operators(), options);
  if (!read) raise_diagnostics(diagnostics, home->context().sources());
  home->module = *read;
  warn(diagnostics, home->context().sources());
}

std::unique_ptr<ProgramBuilder> new_builder(const std::optional<std::string>& text) {
  const auto home = std::make_shared<Home>();
  home->recording = std::make_shared<Recording>();
  if (text) read_text(home, *text, "<text>");
  return std::make_unique<ProgramBuilder>(home);
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
  if (found == late.end() && !fn && !home->module.kernel(name))
    throw py::key_error(cat("there is no function or kernel @", name));
  const Type type = found != late.end() ? declared_type(home->context(), *found) : fn ? fn->type : nullptr;
  return make(home, [&](Builder& b) { return b.global(name, type); });
}

ExprHandle define(const HomeRef& home, const py::function& body, const FunctionSpec& spec) {
  LateFunction f = late_function(home, body, spec);
  const auto is_same = [&](const LateFunction& other) { return other.name == f.name; };
  auto& late = home->recording->global;
  if (home->module.function(f.name) || std::any_of(late.begin(), late.end(), is_same))
    throw py::value_error(cat("there is a function @", f.name, " already: give another `name`"));
  if (home->module.kernel(f.name))
    throw py::value_error(cat("there is a kernel @", f.name, " already: give another `name`"));
  late.push_back(std::move(f));
  return global(home, late.back().name);
}

// It does not keep the program. Bodies may refer to decorators, and only the Builder
// lets go of bodies.
py::cpp_function decorator(const ProgramBuilder& b, const py::args& specs, const py::object& result,
                           const std::optional<std::string>& name, const py::object& type_parameters,
                           const py::object& where, const py::object& attributes) {
  const FunctionSpec spec = function_spec(specs, result, name, type_parameters, where, attributes);
  const py::weakref builder(py::cast(&b, py::return_value_policy::reference));
  return [builder, spec](const py::object& body) {
    const py::object found = builder();
    if (found.is_none())
      throw py::value_error("the relay.Builder of the decorator is gone: keep it until its module is made");
    if (!PyCallable_Check(body.ptr())) {
      throw py::type_error(
          cat("a value of the type ", class_name(body), " is decorated: Builder.function is for functions"));
    }
    return define(py::cast<const ProgramBuilder&>(found).home, py::reinterpret_borrow<py::function>(body),
                  spec);
  };
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
  const Busy busy(Busy::With::kFunctions);
  const std::unique_ptr<ProgramBuilder> builder = new_builder(std::nullopt);
  const HomeRef& home = builder->home;
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
  define(home, f, {.types = given, .result = result, .name = "main"});
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
  py::class_<ProgramBuilder>(m, "Builder", "A program under construction.", collected<ProgramBuilder>())
      .def(py::init(&new_builder), py::arg("text") = py::none(),
           "Begins with the definitions of a text of the language.")
      .def("parse", of_home(&read_text), py::arg("text"), py::arg("name") = "<text>",
           "Adds the definitions of a text of the language. `name` stands in messages.")
      .def("data", of_home(&define_data), py::arg("name"),
           "Defines a data type: `data(\"Tree\", Leaf=(), Node=(\"Tree\", \"int64\", \"Tree\"))`; its type "
           "parameters\n"
           "come after its name: `data(\"List\", \"A\", Nil=(), Cons=(\"A\", \"List[A]\"))`.")
      .def("data_type", of_home(&data_type), py::arg("name"), "The constructors of a data type.")
      .def("function", &decorator, py::kw_only(), py::arg("result") = py::none(),
           py::arg("name") = py::none(), py::arg("type_parameters") = py::tuple(),
           py::arg("where") = py::tuple(), py::arg("attributes") = py::dict(),
           "Decorates a function: `@builder.function(\"List[int64]\", result=\"int64\")`, with a type for "
           "each\n"
           "parameter. Its body runs once, with expressions, when `module` is called.\n\n"
           "`type_parameters=[\"A\"]` makes it generic, and `where=[\"Broadcast(A, A, A)\"]` says which "
           "operators\n"
           "take an A. `attributes={\"Inline\": 1}` are those of the language.")
      .def("library", of_home(&add_library), py::arg("name"),
           "Adds functions of a library of the language, and the data types that they mention:\n"
           "`builder.library(\"prelude\", \"map\", \"foldl\")`, then `builder[\"map\"]`.")
      .def("__getitem__", of_home(&global), py::arg("name"), "The function or kernel of this name.")
      .def("module", of_home(&module_of), py::arg("function") = py::none(),
           "The program, type checked. `function` is run: \"main\" unless it is said. Raises "
           "DiagnosticError.");
  m.def("trace", &trace, py::arg("function"), py::arg("specs"), py::arg("result") = py::none(),
        "The module whose @main does what `function` does to expressions of these types.\n\n"
        "`specs`: a type for each parameter, as a list, or by name. A type is a text of the language, a "
        "relay.Type,\n"
        "or an array, whose shape and dtype are meant. Raises DiagnosticError.");
}

}  // namespace relay::python
