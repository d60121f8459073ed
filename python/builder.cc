// relay.Builder, relay.trace and what functions of programs are made of: ir/builder.h.
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

const HomeRef& here(const char* what) {
  if (!current_home()) {
    throw py::type_error(cat("relay.", what, " is for functions of programs: call it in a function of a ",
                             "relay.Builder, or in one that relay.trace calls"));
  }
  return current_home();
}

// A function with a parameter for each spec, or for each parameter of the body if there are none.
LateFunction late_function(const HomeRef& home, const py::function& body, const py::sequence& specs,
                           const py::object& result, const std::optional<std::string>& name) {
  LateFunction out;
  out.name = name ? *name : name_of(body);
  out.body = body;
  out.span = home->files.caller(home->context().sources());
  const std::vector<std::string> names = parameter_names(body);
  if (py::len(specs) > 0 && py::len(specs) != names.size()) {
    throw py::type_error(cat("`", out.name, "` has ", names.size(), " parameters, and types for ",
                             py::len(specs), " are given"));
  }
  Builder b(home->context());
  b.set_span(out.span);
  for (size_t i = 0; i < names.size(); ++i) {
    const Type type =
        py::len(specs) == 0 ? nullptr : type_of_spec(home->module, py::object(specs[i]), names[i]);
    out.params.push_back(b.var(names[i], type));
  }
  out.result = type_of_spec(home->module, result, "result");
  return out;
}

// Null if it does not say everything.
Type declared_type(Context& context, const LateFunction& f) {
  std::vector<Type> args;
  for (const Var* x : f.params) args.push_back(x->type);
  if (!f.result || f.result->has_hole || std::find(args.begin(), args.end(), nullptr) != args.end())
    return nullptr;
  return context.fn_type({}, args, f.result);
}

// --- functions that are made of values -----------------------------------------------------------

ExprHandle constant(const py::object& value, const py::object& dtype) {
  const HomeRef& home = here("const");
  Type wanted = nullptr;
  py::object given = value;
  if (!dtype.is_none()) {
    wanted = home->context().scalar_type(dtype_of(dtype, "dtype"));
    if (!is_number(value)) given = py::module_::import("numpy").attr("asarray")(value, dtype);
  }
  return {home, expr_of(home, given, wanted, "argument `value`")};
}

ExprHandle let(const py::object& value, const std::string& name) {
  const HomeRef home = here("let");
  const Expr e = expr_of(home, value, nullptr, "argument `value`");
  return make(home, [&](Builder& b) { return bound(home, b, e, name); });
}

ExprHandle ref(const py::object& value) {
  const HomeRef home = here("ref");
  const Expr e = expr_of(home, value, nullptr, "argument `value`");
  return make(home, [&](Builder& b) { return bound(home, b, b.ref_new(e), "r"); });
}

py::cpp_function local_function(const py::args& specs, const py::object& result) {
  const HomeRef home = here("function");
  return py::cpp_function([home, specs, result](const py::function& body) {
    if (current_home() != home || home->recording->scopes.empty())
      throw py::type_error("relay.function is for functions inside functions of a program");
    Recording& r = *home->recording;
    LateFunction f = late_function(home, body, specs, result, std::nullopt);
    f.depth = r.scopes.size();
    Builder b(home->context());
    b.set_span(f.span);
    const Expr x = b.with_type(b.var(f.name), declared_type(home->context(), f));
    r.scopes.back().functions.push_back(x->as<Var>());
    r.local.emplace(x->as<Var>(), std::move(f));
    return ExprHandle{home, x};
  });
}

// --- branches ------------------------------------------------------------------------------------

// A branch or an arm: its value, or a number that takes the dtype of the others.
struct Branch {
  Expr value = nullptr;
  py::object number = {};
  bool has_effects = false;
  Around around = {};
};

Branch branch(const HomeRef& home, Around around, const std::function<py::object()>& body,
              const std::string& what) {
  Branch out;
  out.around = std::move(around);
  out.value = in_scope(
      home, out.around,
      [&]() -> Expr {
        py::object value = body();
        if (!is_number(value) || !home->recording->scopes.back().bindings.empty())
          return expr_of(home, value, nullptr, what);
        out.number = std::move(value);
        return nullptr;
      },
      &out.has_effects);
  return out;
}

// Numbers become constants of the type that another branch has.
void settle_numbers(const HomeRef& home, std::vector<Branch>& branches) {
  Type wanted = nullptr;
  const auto is_bare = [](const Branch& b) { return !b.value; };
  const auto look = [&](const Branch& b) {
    wanted = find_type(home, b.value);
    return b.value;
  };
  const bool any = std::any_of(branches.begin(), branches.end(), is_bare);
  for (const Branch& b : branches) {
    if (any && b.value && !wanted) in_scope(home, b.around, [&] { return look(b); });
  }
  for (Branch& b : branches) {
    if (!b.value) b.value = expr_of(home, b.number, wanted, "the value of a branch");
  }
}

// The value of `body`, which is called if it can be.
py::object value_of(const py::object& body) {
  return py::isinstance<ExprHandle>(body) || !PyCallable_Check(body.ptr()) ? body : body();
}

// An expression with branches: it happens where it stands if a branch has effects.
template <class F>
ExprHandle branching(const HomeRef& home, const std::vector<Branch>& branches, const F& f) {
  const bool effects =
      std::any_of(branches.begin(), branches.end(), [](const Branch& b) { return b.has_effects; });
  return make(home, [&](Builder& b) -> Expr {
    const Expr e = f(b);
    return effects ? bound(home, b, e, "x") : e;
  });
}

ExprHandle if_(const py::object& condition, const py::object& then, const py::object& otherwise) {
  const HomeRef home = here("if_");
  const Expr cond = expr_of(home, condition, nullptr, "the condition");
  std::vector<Branch> branches;
  for (const py::object& body : {then, otherwise})
    branches.push_back(branch(home, {}, [&] { return value_of(body); }, "the value of a branch"));
  settle_numbers(home, branches);
  return branching(home, branches,
                   [&](Builder& b) { return b.if_(cond, branches[0].value, branches[1].value); });
}

// --- match ---------------------------------------------------------------------------------------

class PatternReader {
 public:
  PatternReader(const HomeRef& home, Builder& builder, const std::vector<std::string>& names)
      : home_(home), builder_(builder), names_(names) {}

  // `type`: of the values, if it is known.
  Pattern read(py::handle pattern, Type type) {
    if (pattern.is(py::ellipsis())) return builder_.wildcard();
    if (py::isinstance<py::str>(pattern)) return variable(std::string(py::str(pattern)), type);
    if (py::isinstance<ConstructorHandle>(pattern)) {
      const Constructor& ctor = constructor(pattern);
      std::vector<Pattern> fields;
      for (size_t i = 0; i < ctor.fields.size(); ++i) fields.push_back(variable("", field_type(ctor, i)));
      return builder_.ctor_pattern(ctor, fields);
    }
    if (py::isinstance<py::tuple>(pattern)) return group(py::reinterpret_borrow<py::tuple>(pattern), type);
    throw py::type_error(
        cat("a pattern is of the type ", class_name(pattern),
            ": give a constructor, a tuple of a constructor and patterns for its fields, a tuple "
            "of patterns, the name of a variable, or ... for any value"));
  }

  const std::vector<const Var*>& variables() const { return variables_; }

 private:
  Pattern group(const py::tuple& pattern, Type type) {
    const Nesting deeper;
    const bool has_ctor = py::len(pattern) > 0 && py::isinstance<ConstructorHandle>(pattern[0]);
    const size_t first = has_ctor ? 1 : 0, count = py::len(pattern) - first;
    std::vector<Pattern> fields;
    if (!has_ctor) {
      const auto* tuple = type ? type->as<TupleType>() : nullptr;
      for (size_t i = 0; i < count; ++i)
        fields.push_back(read(pattern[i], tuple && i < tuple->fields.size() ? tuple->fields[i] : nullptr));
      return builder_.tuple_pattern(fields);
    }
    const Constructor& ctor = constructor(pattern[0]);
    if (count != ctor.fields.size()) {
      throw py::type_error(cat("a pattern has ", count, " fields for the constructor ", ctor.name.text(),
                               ", which has ", ctor.fields.size()));
    }
    for (size_t i = 0; i < count; ++i) fields.push_back(read(pattern[i + 1], field_type(ctor, i)));
    return builder_.ctor_pattern(ctor, fields);
  }

  const Constructor& constructor(py::handle value) const {
    const auto& c = py::cast<const ConstructorHandle&>(value);
    if (&c.home->context() != &home_->context())
      throw py::type_error("the constructor is of another program");
    return *c.ctor;
  }

  // Of a generic data type only the checker knows it.
  Type field_type(const Constructor& ctor, size_t i) const {
    return ctor.fields[i]->has_type_var ? nullptr : ctor.fields[i];
  }

  Pattern variable(std::string name, Type type) {
    const size_t i = variables_.size();
    if (i < names_.size()) name = names_[i];
    const Expr x = builder_.with_type(builder_.var(name.empty() ? "x" : name), type);
    variables_.push_back(x->as<Var>());
    return builder_.bind(x->as<Var>());
  }

  const HomeRef& home_;
  Builder& builder_;
  const std::vector<std::string>& names_;
  std::vector<const Var*> variables_;
};

ExprHandle match(const py::object& value, const py::dict& arms, bool partial) {
  const HomeRef home = here("match");
  const Expr of = expr_of(home, value, nullptr, "the value of the match");
  const Type type = known_type(*home, of);
  Builder builder(home->context());
  builder.set_span(home->files.caller(home->context().sources()));
  std::vector<Branch> branches;
  std::vector<Pattern> patterns;
  for (const auto& [key, body] : arms) {
    const bool calls = PyCallable_Check(body.ptr()) && !py::isinstance<ExprHandle>(body);
    const auto names =
        calls ? parameter_names(py::reinterpret_borrow<py::object>(body)) : std::vector<std::string>();
    PatternReader reader(home, builder, names);
    const Pattern pattern = reader.read(key, type);
    const std::vector<const Var*> variables = reader.variables();
    if (calls && names.size() != variables.size()) {
      throw py::type_error(cat("the pattern ", std::string(py::repr(key)), " binds ", variables.size(),
                               " variables, and the function of its arm takes ", names.size()));
    }
    const Around around = [of, pattern](Builder& b, Expr inside) -> Expr {
      const Arm arm{pattern, inside};
      return b.match(of, std::span(&arm, 1), false);
    };
    const auto run = [&, body = py::reinterpret_borrow<py::object>(body)]() -> py::object {
      if (!calls) return body;
      py::tuple args(variables.size());
      for (size_t i = 0; i < variables.size(); ++i) args[i] = py::cast(ExprHandle{home, variables[i]});
      return body(*args);
    };
    branches.push_back(branch(home, around, run, "the value of an arm"));
    patterns.push_back(pattern);
  }
  settle_numbers(home, branches);
  std::vector<Arm> made;
  for (size_t i = 0; i < branches.size(); ++i) made.push_back({patterns[i], branches[i].value});
  return branching(home, branches, [&](Builder& b) { return b.match(of, made, !partial); });
}

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

void bind_values(py::module_& m) {
  m.def("const", &constant, py::arg("value"), py::arg("dtype") = py::none(),
        "A number or an array as a constant of the program. A Python number is an int32, float32 or bool, if "
        "no\n"
        "dtype is given.");
  m.def("let", &let, py::arg("value"), py::arg("name") = "x",
        "The value, computed here, where its `let` stands in the program.");
  m.def("ref", &ref, py::arg("value"), "A new reference: `r.read()` and `r.write(value)`.");
  m.def("if_", &if_, py::arg("condition"), py::arg("then"), py::arg("otherwise"),
        "`then` or `otherwise`, as the condition says when the program runs. What is called in one of them "
        "only\n"
        "belongs in a function without parameters: `relay.if_(n <= 1, 1, lambda: n * factorial(n - 1))`.");
  m.def(
      "match", &match, py::arg("value"), py::arg("arms"), py::kw_only(), py::arg("partial") = false,
      "The first arm whose pattern fits: `relay.match(xs, {List.Nil: 0, List.Cons: lambda x, rest: x})`.\n\n"
      "A pattern is a constructor, which binds its fields; a tuple of a constructor and a pattern for each "
      "field;\n"
      "a tuple of patterns; the name of a variable; or `...` for any value. An arm is a value, or a function "
      "of\n"
      "the variables, left to right. With `partial`, a run may find no arm, and traps.");
  m.def(
      "function",
      [](const py::args& specs, const py::object& result) { return local_function(specs, result); },
      py::kw_only(), py::arg("result") = py::none(),
      "Decorates a function inside a function of a program: `@relay.function(\"int32\", "
      "result=\"int32\")`.\n\n"
      "It may use the variables around it, and call itself. Types that are not given are inferred.");
  m.def("trace", &trace, py::arg("function"), py::arg("specs"), py::arg("result") = py::none(),
        "The module whose @main does what `function` does to expressions of these types.\n\n"
        "`specs`: a type for each parameter, as a list, or by name. A type is a text of the language, a "
        "relay.Type,\n"
        "or an array, whose shape and dtype are meant. Raises DiagnosticError.");
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
  bind_values(m);
}

}  // namespace relay::python
