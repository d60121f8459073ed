#include "python/recording.h"

#include <algorithm>
#include <iterator>

#include "base/cat.h"
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
  return b.fn(params, b.call(self, args, {}, f.result), f.result);
}

}  // namespace

const Fn* stand_in(Builder& b, const LateFunction& f) { return stand_in(b, f, b.global(f.name)); }

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
  // keeps its name, by which it may call itself.
  if (bindings.back().x == out && !bindings.back().value->as<Fn>()) {
    out = bindings.back().value;
    bindings.pop_back();
  }
  Builder b(home->context());
  for (size_t i = bindings.size(); i-- > 0;) {
    b.set_span(bindings[i].value->span);
    out = b.let(bindings[i].x, bindings[i].value, out);
  }
  return out;
}

Expr bound(const HomeRef& home, Builder& b, Expr value, std::string_view name) {
  if (!home->recording || home->recording->scopes.empty()) return value;
  const Expr x = b.with_type(b.var(name), known_type(*home, value));
  home->recording->scopes.back().bindings.push_back({x->as<Var>(), value});
  return x;
}

const Fn* run_body(const HomeRef& home, const LateFunction& f, const Var* self) {
  const Around around = [f, self](Builder& b, Expr inside) -> Expr {
    const Fn* fn = b.fn(f.params, inside);
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
  return b.fn(f.params, body, f.result);
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

std::vector<std::string> parameter_names(py::handle f) {
  const py::module_ inspect = py::module_::import("inspect");
  const py::object parameters = inspect.attr("signature")(f).attr("parameters");
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
  const bool typed = type && !type->has_type_var && type->args.size() == names.size();
  Builder b(home->context());
  LateFunction late{.name = name_of(f), .body = f, .params = {}};
  late.span = home->files.caller(home->context().sources());
  b.set_span(late.span);
  for (const std::string& name : names)
    late.params.push_back(b.var(name, typed ? type->args[late.params.size()] : nullptr));
  if (typed) late.result = type->result;
  return run_body(home, late, nullptr);
}

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

Type declared_type(Context& context, const LateFunction& f) {
  std::vector<Type> args;
  for (const Var* x : f.params) args.push_back(x->type);
  if (!f.result || f.result->has_hole || std::find(args.begin(), args.end(), nullptr) != args.end())
    return nullptr;
  return context.fn_type({}, args, f.result);
}

}  // namespace relay::python
