#include "python/recording.h"

#include <algorithm>
#include <iterator>

#include "base/cat.h"
#include "ir/text/printer.h"
#include "python/types.h"

namespace relay::python {
namespace {

// The scopes from `depth` on are put aside while it lives.
class Aside {
 public:
  Aside(Recording& r, size_t depth) : recording_(r) {
    const auto first = r.scopes.begin() + static_cast<ptrdiff_t>(depth);
    kept_.assign(std::make_move_iterator(first), std::make_move_iterator(r.scopes.end()));
    r.scopes.resize(depth);
  }
  ~Aside() {
    for (Scope& s : kept_) recording_.scopes.push_back(std::move(s));
  }
  Aside(const Aside&) = delete;

 private:
  Recording& recording_;
  std::vector<Scope> kept_;
};

// A function that calls itself: what the checker takes for one whose body is not known yet.
const Fn* stand_in(Builder& b, const LateFunction& f, Expr self) {
  std::vector<const Var*> params;
  std::vector<Expr> args;
  for (const Var* x : f.params) {
    params.push_back(b.var(x->name.text(), x->annotation));
    args.push_back(params.back());
  }
  return b.fn(params, b.call(self, args, {}, f.result), f.result, f.attrs, f.type_params, f.where);
}

// --- what a decorator says -----------------------------------------------------------------------

std::vector<std::string> words(const py::object& given, const char* argument) {
  std::vector<std::string> out;
  const bool is_text = py::isinstance<py::str>(given);
  if (!is_text && !py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given))
    throw py::type_error(cat("argument `", argument, "` is a ", class_name(given), ": give a list of texts"));
  const py::sequence all = is_text ? py::sequence(py::make_tuple(given)) : py::sequence(given);
  for (const py::object word : all) {
    if (!py::isinstance<py::str>(word))
      throw py::type_error(cat("argument `", argument, "` has a ", class_name(word), ": give texts"));
    out.push_back(py::str(word));
  }
  return out;
}

// A type in a text: `_` for one that is to be inferred.
std::string text_of_spec(const HomeRef& home, py::handle spec, const std::string& what) {
  if (spec.is_none()) return "_";
  if (py::isinstance<py::str>(spec)) return py::str(spec);
  return print(type_of_spec(home->module, spec, what));
}

Type unless_hole(Type type) { return type->kind == TypeKind::kHole ? nullptr : type; }

// The types of a generic function are read as one, `fn[A where Relation(A)](A) -> A`: that is where
// its type parameters are known. Returns those of its parameters.
std::vector<Type> read_generic(const HomeRef& home, const FunctionSpec& spec,
                               const std::vector<std::string>& names, LateFunction& out) {
  std::vector<std::string> types;
  for (size_t i = 0; i < names.size(); ++i)
    types.push_back(text_of_spec(home, py::object(spec.types[i]), names[i]));
  const std::string relations = spec.where.empty() ? "" : cat(" where ", join(spec.where, ", "));
  const std::string text = cat("fn[", join(spec.type_parameters, ", "), relations, "](", join(types, ", "),
                               ") -> ", text_of_spec(home, spec.result, "result"));
  const Type type = type_of_spec(home->module, py::str(text), cat("the type of ", out.name));
  const auto* fn = type->as<FnType>();
  if (!fn || fn->args.size() != names.size())
    throw py::type_error(
        cat("`", out.name, "`: ", text, " is no type of a function with ", names.size(), " parameters"));
  out.type_params.assign(fn->type_params.begin(), fn->type_params.end());
  out.where.assign(fn->where.begin(), fn->where.end());
  out.result = unless_hole(fn->result);
  std::vector<Type> args;
  for (const Type arg : fn->args) args.push_back(unless_hole(arg));
  return args;
}

std::vector<Type> read_types(const HomeRef& home, const FunctionSpec& spec,
                             const std::vector<std::string>& names, LateFunction& out) {
  const size_t given = py::len(spec.types);
  const bool is_generic = !spec.type_parameters.empty();
  if (given != names.size() && (given > 0 || is_generic)) {
    throw py::type_error(
        cat("`", out.name, "` has ", names.size(), " parameters, and types for ", given, " are given"));
  }
  if (is_generic) return read_generic(home, spec, names, out);
  if (!spec.where.empty())
    throw py::type_error(cat("`", out.name, "`: `where` is about type parameters, and none are given"));
  std::vector<Type> types(names.size(), nullptr);
  for (size_t i = 0; i < given; ++i)
    types[i] = type_of_spec(home->module, py::object(spec.types[i]), names[i]);
  out.result = type_of_spec(home->module, spec.result, "result");
  return types;
}

Attrs read_attributes(const HomeRef& home, const FunctionSpec& spec) {
  std::vector<AttrArg> out;
  for (const auto& [key, value] : spec.attributes) {
    const std::string name = py::str(key);
    if (PyBool_Check(value.ptr())) {
      out.push_back({name, py::cast<bool>(value)});
    } else if (PyIndex_Check(value.ptr())) {
      out.push_back({name, integer_of(value, cat("attribute `", name, "`"))});
    } else if (py::isinstance<py::str>(value)) {
      out.push_back({name, std::string(py::str(value))});
    } else {
      throw py::type_error(cat("attribute `", name, "` of a function is of the type ", class_name(value),
                               ": give an integer, a truth value or a text"));
    }
  }
  return home->context().attrs(out);
}

}  // namespace

const Fn* stand_in(Builder& b, const LateFunction& f) { return stand_in(b, f, b.global(f.name)); }

FunctionSpec function_spec(const py::sequence& types, const py::object& result,
                           const std::optional<std::string>& name, const py::object& type_parameters,
                           const py::object& where, const py::object& attributes) {
  FunctionSpec out{.types = types, .result = result, .name = name};
  out.type_parameters = words(type_parameters, "type_parameters");
  out.where = words(where, "where");
  if (!py::isinstance<py::dict>(attributes))
    throw py::type_error(
        cat("argument `attributes` is a ", class_name(attributes), ": give a dict, as {\"Inline\": 1}"));
  out.attributes = py::reinterpret_borrow<py::dict>(attributes);
  return out;
}

Expr in_scope(const HomeRef& home, Around around, const std::function<Expr()>& body, bool* has_effects) {
  Recording& r = *home->recording;
  const size_t depth = r.scopes.size();
  r.scopes.emplace_back().around = std::move(around);
  struct Close {
    Recording& r;
    size_t depth;
    ~Close() {
      // After an exception, bodies that have not run may hold expressions of this program, which
      // would keep both for ever.
      for (size_t i = depth; i < r.scopes.size(); ++i) {
        for (const Var* x : r.scopes[i].functions) r.local.erase(x);
      }
      r.scopes.resize(depth);
    }
  } close{r, depth};
  Expr out = body();
  if (r.scopes.size() != depth + 1) throw py::type_error("two threads make the same program at once");
  while (!r.scopes[depth].functions.empty()) {
    const Var* x = r.scopes[depth].functions.back();
    r.scopes[depth].functions.pop_back();
    settle(home, x);
  }
  std::vector<Binding>& bindings = r.scopes[depth].bindings;
  if (has_effects) *has_effects = !bindings.empty();
  if (bindings.empty()) return out;
  // What is bound last is given as it is: a call in the last place is a tail call. A function
  // keeps its name, by which it may call itself, and a type that is said is kept.
  const Binding& last = bindings.back();
  if (last.x == out && !last.value->as<Fn>() && !last.x->annotation) {
    out = last.value;
    bindings.pop_back();
  }
  Builder b(home->context());
  for (size_t i = bindings.size(); i-- > 0;) {
    b.set_span(bindings[i].value->span);
    out = with_binding(b, bindings[i], out);
  }
  return out;
}

Expr with_binding(Builder& b, const Binding& binding, Expr body) {
  if (!binding.matches_shape) return b.let(binding.x, binding.value, body);
  return b.call(b.fn({&binding.x, 1}, body), {binding.value});
}

Expr bound(const HomeRef& home, Builder& b, Expr value, std::string_view name) {
  if (!home->recording || home->recording->scopes.empty()) return value;
  const Expr x = b.with_type(b.var(name), known_type(*home, value));
  home->recording->scopes.back().bindings.push_back({x->as<Var>(), value});
  return x;
}

const Fn* run_body(const HomeRef& home, const LateFunction& f, const Var* self) {
  const Around around = [f, self](Builder& b, Expr inside) -> Expr {
    const Fn* fn = b.fn(f.params, inside, nullptr, {}, f.type_params, f.where);
    return self ? static_cast<Expr>(b.let(self, stand_in(b, f, self), fn)) : fn;
  };
  const CurrentHome here(home);
  const Expr body = in_scope(home, around, [&] {
    py::tuple args(f.params.size());
    for (size_t i = 0; i < f.params.size(); ++i) args[i] = py::cast(ExprHandle{home, f.params[i]});
    return expr_of(home, f.body(*args), f.result, cat("the result of `", f.name, "`"));
  });
  Builder b(home->context());
  b.set_span(f.span);
  return b.fn(f.params, body, f.result, f.attrs, f.type_params, f.where);
}

void settle(const HomeRef& home, const Var* x) {
  if (!home->recording) return;
  Recording& r = *home->recording;
  const auto found = r.local.find(x);
  if (found == r.local.end()) return;
  const LateFunction f = std::move(found->second);
  r.local.erase(found);  // calls of itself find nothing to do
  const Aside inner(r, f.depth);
  const Fn* fn = run_body(home, f, x);
  r.scopes.back().bindings.push_back({x, fn});
}

std::string name_of(py::handle f) {
  const std::string name = py::str(py::getattr(f, "__name__", py::str("f")));
  return name.starts_with('<') ? "f" : name;  // "<lambda>"
}

// Functions that are written in C, as NumPy's, may not say what they take.
py::object signature_of(py::handle f) {
  try {
    return py::module_::import("inspect").attr("signature")(f);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    const std::string name = name_of(f);
    throw py::type_error(cat("the function `", name,
                             "` does not say what its parameters are: call it in one that does, ",
                             "as in lambda x: ", name, "(x)"));
  }
}

std::vector<std::string> parameter_names(py::handle f) {
  if (py::isinstance<ExprHandle>(f))
    throw py::type_error("a relay.Expr is no function of Python: give one that calls it, as lambda x: f(x)");
  const py::module_ inspect = py::module_::import("inspect");
  const py::object parameters = signature_of(f).attr("parameters");
  const py::object kind = inspect.attr("Parameter");
  std::vector<std::string> out;
  for (const py::handle p : parameters.attr("values")()) {
    const bool by_place = p.attr("kind").is(kind.attr("POSITIONAL_ONLY")) ||
                          p.attr("kind").is(kind.attr("POSITIONAL_OR_KEYWORD"));
    if (by_place && p.attr("default").is(kind.attr("empty"))) out.push_back(py::str(p.attr("name")));
  }
  return out;
}

Expr fn_of(const HomeRef& home, const py::function& f, Type wanted) {
  if (!home->recording)
    throw py::type_error("a Python function can be a value only in a program under construction");
  const std::vector<std::string> names = parameter_names(f);
  const auto* type = wanted ? wanted->as<FnType>() : nullptr;
  const bool typed = type && type->args.size() == names.size();
  const auto unless_open = [](Type t) { return t->has_hole ? nullptr : t; };
  Builder b(home->context());
  LateFunction late{.name = name_of(f), .body = f, .params = {}};
  late.span = home->files->caller(home->context().sources());
  b.set_span(late.span);
  for (const std::string& name : names)
    late.params.push_back(b.var(name, typed ? unless_open(type->args[late.params.size()]) : nullptr));
  if (typed) late.result = unless_open(type->result);
  return run_body(home, late, nullptr);
}

LateFunction late_function(const HomeRef& home, const py::function& body, const FunctionSpec& spec) {
  LateFunction out;
  out.name = spec.name ? *spec.name : name_of(body);
  out.body = body;
  out.span = home->files->caller(home->context().sources());
  out.attrs = read_attributes(home, spec);
  const std::vector<std::string> names = parameter_names(body);
  const std::vector<Type> types = read_types(home, spec, names, out);
  Builder b(home->context());
  b.set_span(out.span);
  for (size_t i = 0; i < names.size(); ++i) out.params.push_back(b.var(names[i], types[i]));
  return out;
}

Type declared_type(Context& context, const LateFunction& f) {
  std::vector<Type> args;
  for (const Var* x : f.params) args.push_back(x->type);
  if (!f.result || f.result->has_hole || std::find(args.begin(), args.end(), nullptr) != args.end())
    return nullptr;
  return context.fn_type(f.type_params, args, f.result, f.where);
}

}  // namespace relay::python
