// What functions of programs are made of: relay.const, let, ref, if_, match and
// function. ir/builder.h.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "base/cat.h"
#include "ir/module.h"
#include "op/grad.h"
#include "python/bindings.h"
#include "python/recording.h"
#include "python/tensors.h"
#include "python/types.h"

namespace relay::python {
namespace {

const HomeRef& here(const char* what) {
  if (!current_home()) {
    throw py::type_error(cat("relay.", what, " is for functions of programs: call it in a function of a ",
                             "relay.Builder, or in one that relay.trace calls"));
  }
  return current_home();
}

// --- functions that are made of values -----------------------------------------------------------

// NumPy knows some dtypes by a package only, and those of 4 bits not at all.
py::object array_as(const py::object& value, DType dtype) {
  const py::dtype of_numpy = numpy_dtype(dtype);
  if (dtype_of(of_numpy, "argument `dtype`") != dtype)
    throw py::type_error(cat("argument `dtype`: NumPy has no arrays of ", dtype.name(),
                             ": relay.ops.cast gives a tensor another dtype"));
  return py::module_::import("numpy").attr("asarray")(value, of_numpy);
}

ExprHandle constant(const py::object& value, const py::object& dtype) {
  const HomeRef& home = here("const");
  Type wanted = nullptr;
  py::object given = value;
  if (!dtype.is_none()) {
    const DType named = dtype_of(dtype, "argument `dtype`");
    wanted = home->context().scalar_type(named);
    if (!is_number(value)) given = array_as(value, named);
  }
  return {home, expr_of(home, given, wanted, "argument `value`")};
}

// Binds the value to a variable of this type.
ExprHandle bound_as(const HomeRef& home, Expr value, const std::string& name, Type type, bool matches_shape) {
  return make(home, [&](Builder& b) {
    const Var* x = b.var(name, type);
    home->recording->scopes.back().bindings.push_back({x, value, matches_shape});
    return x;
  });
}

// The type of a `let` or a `match_shape`, in the scope of a function that is being made.
Type type_of_binding(const HomeRef& home, const py::object& spec, const char* what) {
  if (!home->recording || home->recording->scopes.empty())
    throw py::type_error(cat("relay.", what, " with a type is for functions of programs"));
  return type_of_spec(home->module, spec, "type");
}

ExprHandle let(const py::object& value, const std::string& name, const py::object& spec) {
  const HomeRef home = here("let");
  const Type type = spec.is_none() ? nullptr : type_of_binding(home, spec, "let");
  const Expr e = expr_of(home, value, type, "argument `value`");
  if (type) return bound_as(home, e, name, type, false);
  return make(home, [&](Builder& b) { return bound(home, b, e, name); });
}

ExprHandle match_shape(const py::object& value, const py::object& spec, const std::string& name) {
  const HomeRef home = here("match_shape");
  if (spec.is_none())
    throw py::type_error(
        "argument `type` is None: give the type whose extents get names, as \"Tensor[(n), int32]\"");
  const Type type = type_of_binding(home, spec, "match_shape");
  return bound_as(home, expr_of(home, value, type, "argument `value`"), name, type, true);
}

ExprHandle ref(const py::object& value) {
  const HomeRef home = here("ref");
  const Expr e = expr_of(home, value, nullptr, "argument `value`");
  return make(home, [&](Builder& b) { return bound(home, b, b.ref_new(e), "r"); });
}

py::cpp_function local_function(const py::args& specs, const py::object& result,
                                const py::object& type_parameters, const py::object& where,
                                const py::object& attributes) {
  const HomeRef home = here("function");
  const FunctionSpec spec = function_spec(specs, result, std::nullopt, type_parameters, where, attributes);
  return py::cpp_function([home, spec](const py::function& body) {
    if (current_home() != home || home->recording->scopes.empty())
      throw py::type_error("relay.function is for functions inside functions of a program");
    Recording& r = *home->recording;
    LateFunction f = late_function(home, body, spec);
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

// A function that makes the value of a branch. Expressions and constructors are values, although
// they can be called.
bool is_body(py::handle value) {
  return PyCallable_Check(value.ptr()) && !py::isinstance<ExprHandle>(value) &&
         !py::isinstance<ConstructorHandle>(value);
}

py::object value_of(const py::object& body) { return is_body(body) ? body() : body; }

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
  builder.set_span(home->files->caller(home->context().sources()));
  std::vector<Branch> branches;
  std::vector<Pattern> patterns;
  // The functions of arms may change the dict.
  const auto all = py::reinterpret_steal<py::dict>(PyDict_Copy(arms.ptr()));
  for (const auto& [key, body] : all) {
    const bool calls = is_body(body);
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

}  // namespace

void bind_control(py::module_& m) {
  m.def("const", &constant, py::arg("value"), py::arg("dtype") = py::none(),
        "A number or an array as a constant of the program. A Python number is an int32, float32 or bool, if "
        "no\n"
        "dtype is given.");
  m.def("let", &let, py::arg("value"), py::arg("name") = "x", py::arg("type") = py::none(),
        "The value, computed here, where its `let` stands in the program. `type` is checked, and numbers\n"
        "take its dtype.");
  m.def("match_shape", &match_shape, py::arg("value"), py::arg("type"), py::arg("name") = "x",
        "The value as one of this type, whose shape variables are its extents from here on:\n"
        "`relay.match_shape(relay.ops.arange(0, k, 1), \"Tensor[(n), int32]\")`. A run traps if it does not "
        "fit.");
  m.def("ref", &ref, py::arg("value"), "A new reference: `r.read()` and `r.write(value)`.");
  m.def("if_", &if_, py::arg("condition"), py::arg("then"), py::arg("otherwise"),
        "`then` or `otherwise`, as the condition says when the program runs. What is called in one of them "
        "only\n"
        "belongs in a function without parameters: `relay.if_(n <= 1, 1, lambda: n * factorial(n - 1))`.");
  m.def(
      "grad", [](const py::object& f) { return apply(op::grad(), {f}, {}); }, py::arg("function"),
      "A function that gives the value of `function` and its gradients: `value, (dx, dy) = relay.grad(f)(x, "
      "y)`"
      "\n(docs/gradients.md).");
  m.def(
      "match", &match, py::arg("value"), py::arg("arms"), py::kw_only(), py::arg("partial") = false,
      "The first arm whose pattern fits: `relay.match(xs, {List.Nil: 0, List.Cons: lambda x, rest: x})`.\n\n"
      "A pattern is a constructor, which binds its fields; a tuple of a constructor and a pattern for each "
      "field;\n"
      "a tuple of patterns; the name of a variable; or `...` for any value. An arm is a value, or a function "
      "of\n"
      "the variables, left to right. With `partial`, a run may find no arm, and traps.");
  m.def("function", &local_function, py::kw_only(), py::arg("result") = py::none(),
        py::arg("type_parameters") = py::tuple(), py::arg("where") = py::tuple(),
        py::arg("attributes") = py::dict(),
        "Decorates a function inside a function of a program: `@relay.function(\"int32\", "
        "result=\"int32\")`.\n\n"
        "It may use the variables around it, and call itself. Types that are not given are inferred. The\n"
        "other arguments are those of Builder.function.");
}

}  // namespace relay::python
