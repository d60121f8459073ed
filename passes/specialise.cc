// specialise: a generic function that computes with values of its type parameters becomes one function for each choice of
// types that it is called with.
//
// Kernels are made for types that are known. `inline` puts the bodies of functions that do not recur where they are called;
// what is left here recurs, or is large. A function that only passes such values on, like `map`, stays one function.
//
// A call that mentions shape variables gets a function with shape variables of its own, which calls bind again. Recursion
// that goes on with other types each time has no end of functions: a limit ends it.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/registry.h"
#include "passes/map_types.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

bool is_generic(Type t) { return !t || t->has_type_var || t->has_hole; }

// Does the body apply operators to what a type parameter stands for?
bool computes_with_parameters(const Fn& fn) {
  for (Expr e : post_order(fn.body)) {
    const auto* call = e->as<Call>();
    if (!call || !op::callee(*call)) continue;
    if (is_generic(call->type)) return true;
    if (std::any_of(call->args.begin(), call->args.end(), [](Expr arg) { return is_generic(arg->type); }))
      return true;
  }
  return false;
}

// What the type parameters of a generic type are in another one that was made of it.
class Matcher {
 public:
  explicit Matcher(std::span<const TypeVar* const> parameters) : parameters_(parameters) {}

  void match(Type general, Type special) {
    if (const auto* v = general->as<TypeVar>()) {
      if (std::find(parameters_.begin(), parameters_.end(), v) != parameters_.end())
        found_.emplace(v, special);
      return;
    }
    if (general->kind != special->kind) return;
    if (const auto* tuple = general->as<TupleType>()) {
      all(tuple->fields, special->as<TupleType>()->fields);
    } else if (const auto* fn = general->as<FnType>()) {
      all(fn->args, special->as<FnType>()->args);
      match(fn->result, special->as<FnType>()->result);
    } else if (const auto* ref = general->as<RefType>()) {
      match(ref->contents, special->as<RefType>()->contents);
    } else if (const auto* data = general->as<DataType>()) {
      all(data->args, special->as<DataType>()->args);
    }
  }
  // In the order of the parameters; nothing if some was not found.
  std::optional<std::vector<Type>> found() const {
    std::vector<Type> out;
    for (const TypeVar* v : parameters_) {
      const auto it = found_.find(v);
      if (it == found_.end()) return std::nullopt;
      out.push_back(it->second);
    }
    return out;
  }

 private:
  void all(const List<Type>& general, const List<Type>& special) {
    for (size_t i = 0; i < std::min(general.size(), special.size()); ++i) match(general[i], special[i]);
  }

  std::span<const TypeVar* const> parameters_;
  std::unordered_map<const TypeVar*, Type> found_;
};

class Specialiser {
 public:
  Specialiser(const Module& m, const PassContext& pass)
      : out_(m),
        context_(m.context()),
        pass_(pass),
        most_(static_cast<size_t>(pass.value("max-instances"))) {}

  Module run() {
    find_generic();
    if (generic_.empty()) return out_;
    // `let %f = @generic; ...` gives another name to what is called at types of its own.
    out_ = rewrite(out_, [&](relay::Builder&, Expr e) -> Expr {
      const auto* let = e->as<Let>();
      const auto* global = let ? let->value->as<Global>() : nullptr;
      if (!global || !generic_.contains(global->name)) return e;
      return substitute(context_, let->body, {{let->x, let->value}});
    });
    for (const auto& [name, fn] : out_.functions()) {
      if (!generic_.contains(name)) pending_.push_back(name);
    }
    while (!pending_.empty() && !pass_.diagnostics.has_errors()) {
      const Symbol name = pending_.front();
      pending_.pop_front();
      const Fn* fn = out_.function(name.text());
      const Expr now = rewrite(context_, fn, [&](relay::Builder& b, Expr e) { return with_instances(b, e); });
      if (now != fn) out_.set_function(name.text(), now->as<Fn>());
    }
    return out_;
  }

 private:
  // The functions that are to be specialised: they compute with what is generic, or pass it to one that does.
  void find_generic() {
    for (const auto& [name, fn] : out_.functions()) {
      if (!fn->type_params.empty() && computes_with_parameters(*fn)) generic_.insert(name);
    }
    for (bool again = !generic_.empty(); again;) {
      again = false;
      for (const auto& [name, fn] : out_.functions()) {
        if (fn->type_params.empty() || generic_.contains(name)) continue;
        const std::vector<Symbol> mentioned = mentioned_globals(fn);
        if (std::none_of(mentioned.begin(), mentioned.end(), [&](Symbol s) { return generic_.contains(s); }))
          continue;
        generic_.insert(name);
        again = true;
      }
    }
  }

  // The node with instances in the place of the generic functions among its children.
  Expr with_instances(relay::Builder& b, Expr e) {
    const auto* call = e->as<Call>();
    const std::vector<Type> wanted = call ? wanted_by(*call) : std::vector<Type>();
    std::vector<Expr> children;
    bool changed = false, is_callee = false;
    for_each_child(e, [&](Expr child) {
      const bool callee = call && children.empty();
      Expr now = child;
      if (const auto* global = child->as<Global>(); global && generic_.contains(global->name)) {
        const size_t arg = children.size() - 1;
        const Type type = call && !callee && arg < wanted.size() ? wanted[arg] : global->type;
        now = callee ? instance_for_call(b, *call, *global) : instance_for_value(b, *global, type);
        is_callee |= callee && now != child;
      }
      changed |= now != child;
      children.push_back(now);
    });
    if (!changed) return e;
    if (!is_callee) return with_children(context_, e, children);
    // An instance has no type parameters.
    SpanScope at(b, e->span);
    return b.call(children[0], std::span(children).subspan(1), call->attrs, call->type);
  }

  Expr instance_for_call(relay::Builder& b, const Call& call, const Global& global) {
    const std::vector<Type> types(call.type_args.begin(), call.type_args.end());
    if (types.size() != out_.function(global.name.text())->type_params.size()) return &global;
    return instance_of(b, global, types);
  }
  // The types that the callee takes; fewer if it is not known.
  std::vector<Type> wanted_by(const Call& call) {
    const auto* type = call.callee->type ? call.callee->type->as<FnType>() : nullptr;
    if (const auto* global = call.callee->as<Global>()) {
      const Fn* fn = out_.function(global->name.text());
      if (fn && fn->type) type = fn->type->as<FnType>();
    }
    if (!type || type->type_params.size() != call.type_args.size()) return {};
    std::unordered_map<const TypeVar*, Type> chosen;
    for (size_t i = 0; i < call.type_args.size(); ++i) chosen[type->type_params[i]] = call.type_args[i];
    std::vector<Type> out;
    for (Type t : type->args) out.push_back(map_type(context_, t, choice_of(chosen)));
    return out;
  }
  // As a value it is wanted as something of a type that is made of its own.
  Expr instance_for_value(relay::Builder& b, const Global& global, Type type) {
    const Fn* fn = out_.function(global.name.text());
    if (is_generic(type) || !fn->type) return &global;
    Matcher matcher(fn->type_params);
    const auto* general = fn->type->as<FnType>();
    const auto* special = type->as<FnType>();
    for (size_t i = 0; general && special && i < std::min(general->args.size(), special->args.size()); ++i)
      matcher.match(general->args[i], special->args[i]);
    if (general && special) matcher.match(general->result, special->result);
    const std::optional<std::vector<Type>> types = matcher.found();
    return types ? instance_of(b, global, *types) : &global;
  }

  Expr instance_of(relay::Builder& b, const Global& global, const std::vector<Type>& types) {
    if (std::any_of(types.begin(), types.end(), is_generic)) return &global;
    const Fn* fn = out_.function(global.name.text());
    std::pair key(global.name, with_own_variables(*fn, types));
    auto it = instances_.find(key);
    if (it == instances_.end()) {
      if (++count_[global.name] > most_) {
        pass_.diagnostics
            .error(global.span, "too-many-instances",
                   cat("the generic function `@", global.name.text(), "` computes with more than ", most_,
                       " choices of types"))
            .note("a function that calls itself with other types each time has no end of them")
            .note("the engines `interp` and `jit` run any program");
        return &global;
      }
      it = instances_.emplace(key, instantiate(global.name, *fn, key.second)).first;
    }
    SpanScope at(b, global.span);
    return b.global(it->second.text(), out_.function(it->second.text())->type);
  }

  // The types with shape variables that mean nothing to the function: those around the call are not known in it.
  std::vector<Type> with_own_variables(const Fn& fn, const std::vector<Type>& types) {
    std::set<std::string> taken;
    for (kernel::Expr v : shape_variables(context_, &fn)) taken.insert(v->name.str());
    std::unordered_map<const kernel::ExprNode*, kernel::Expr> renamed;
    size_t next = 0;
    const TypeMap rename{.dim =
                             [&](Dim d) {
                               if (!d.is_symbolic()) return d;
                               for (kernel::Expr v : kernel::variables(d.symbolic())) {
                                 if (renamed.contains(v.get())) continue;
                                 std::string name = cat("n", next++);
                                 while (taken.contains(name)) name = cat("n", next++);
                                 renamed[v.get()] = context_.pool().shape_variable(name);
                               }
                               return Dim(kernel::substitute(d.symbolic(), renamed));
                             },
                         .dtype = {}};
    std::vector<Type> out;
    for (Type t : types) out.push_back(map_type(context_, t, rename));
    return out;
  }

  static TypeMap choice_of(const std::unordered_map<const TypeVar*, Type>& chosen) {
    return {.dim = {}, .dtype = {}, .variable = [&chosen](const TypeVar* v) -> Type {
              const auto it = chosen.find(v);
              return it == chosen.end() ? v : it->second;
            }};
  }

  Symbol instantiate(Symbol name, const Fn& fn, const std::vector<Type>& types) {
    std::unordered_map<const TypeVar*, Type> chosen;
    for (size_t i = 0; i < types.size(); ++i) chosen[fn.type_params[i]] = types[i];
    const Fn* body = map_types(context_, refresh(context_, &fn), choice_of(chosen))->as<Fn>();
    relay::Builder b(context_);
    SpanScope at(b, fn.span);
    Expr made = b.fn(body->params, body->body, body->result, body->attrs);
    std::vector<Type> args;
    for (const Var* p : body->params) args.push_back(p->type);
    made = b.with_type(made, context_.fn_type({}, args, body->body->type));
    size_t number = count_[name];
    std::string text = cat(name.text(), "_", number);
    while (out_.function(text) || out_.kernel(text)) text = cat(name.text(), "_", ++number);
    out_.set_function(text, made->as<Fn>());
    const Symbol symbol = context_.symbol(text);
    pending_.push_back(symbol);
    return symbol;
  }

  Module out_;
  Context& context_;
  const PassContext& pass_;
  size_t most_;
  std::set<Symbol> generic_;
  std::map<std::pair<Symbol, std::vector<Type>>, Symbol> instances_;
  std::map<Symbol, size_t> count_;  // of each function's instances
  std::deque<Symbol> pending_;      // functions whose calls have not been looked at
};

Module run(const Module& m, const PassContext& pass) { return Specialiser(m, pass).run(); }

}  // namespace

const Pass kSpecialise = {
    .name = "specialise",
    .doc =
        "make generic functions that compute with values of their type parameters into functions of known "
        "types",
    .parameters = {{"max-instances", 64, "the most functions that one generic function becomes"}},
    .run = run,
};

}  // namespace relay::passes
