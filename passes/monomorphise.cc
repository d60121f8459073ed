// monomorphise: a generic function that computes with values of its type parameters becomes one
// function for each choice of types that it is called with.
//
// Kernels are made for types that are known. `inline` puts the bodies of functions that do not
// recur where they are called; what is left here recurs, or is large. A function that only passes
// such values on, like `map`, stays one function. With `all=1` it becomes several, too: passes that
// give functions a representation of their own need the types of all functions.
//
// A call that mentions shape variables gets a function with shape variables of its own, which calls
// bind again. Recursion that goes on with other types each time has no end of functions: a limit
// ends it. Generic functions that a let binds become several lets (monomorphise_lets.h).
//
// Before: nothing is asked for. After: no generic function is left that computes with values of its
// type parameters and is called. With `all=1` no generic function of the module is called at known
// types.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "passes/map_types.h"
#include "passes/monomorphise_lets.h"
#include "passes/pass.h"
#include "passes/type_choices.h"

namespace relay::passes {
namespace {

class Monomorphiser {
 public:
  Monomorphiser(const Module& m, const PassContext& pass)
      : out_(m),
        context_(m.context()),
        pass_(pass),
        most_(static_cast<size_t>(pass.value("max-instances"))),
        all_(pass.value("all") != 0) {}

  Module run() {
    find_generic();
    if (!generic_.empty()) {
      // `let %f = @generic; ...` gives another name to what is called at types of its own.
      out_ = rewrite(out_, [&](relay::Builder&, Expr e) -> Expr {
        const auto* let = e->as<Let>();
        const auto* global = let ? let->value->as<Global>() : nullptr;
        if (!global || !generic_.contains(global->name)) return e;
        return substitute(context_, let->body, {{let->x, let->value}});
      });
    }
    for (const auto& [name, fn] : out_.functions()) {
      if (!generic_.contains(name)) pending_.push_back(name);
    }
    while (!pending_.empty() && !pass_.diagnostics.has_errors()) {
      const Symbol name = pending_.front();
      pending_.pop_front();
      const Fn* fn = out_.function(name.text());
      // What a let binds comes first: what it is called with says what it calls.
      Expr now = monomorphise_lets(context_, fn, generic_, most_, all_, pass_.diagnostics);
      if (!generic_.empty())
        now = rewrite(context_, now, [&](relay::Builder& b, Expr e) { return with_instances(b, e); });
      if (now != fn) out_.set_function(name.text(), now->as<Fn>());
    }
    return out_;
  }

 private:
  // The functions that are to be monomorphised: they compute with what is generic, or pass it
  // to one that does.
  void find_generic() {
    for (const auto& [name, fn] : out_.functions()) {
      if (!fn->type_params.empty() && (all_ || computes_with_parameters(*fn))) generic_.insert(name);
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
    bool any = false;
    for_each_child(e, [&](Expr child) {
      const auto* global = child->as<Global>();
      any |= global && generic_.contains(global->name);
    });
    if (!any) return e;
    const auto* call = e->as<Call>();
    const std::vector<Type> wanted = wanted_types(context_, e, call ? callee_type(*call) : nullptr);
    std::vector<Expr> children;
    bool changed = false, is_callee = false;
    for_each_child(e, [&](Expr child) {
      const bool callee = call && children.empty();
      Expr now = child;
      if (const auto* global = child->as<Global>(); global && generic_.contains(global->name)) {
        now = callee ? instance_for_call(b, *call, *global)
                     : instance_for_value(b, *global, wanted[children.size()]);
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

  const FnType* callee_type(const Call& call) const {
    if (const auto* global = call.callee->as<Global>()) {
      const Fn* fn = out_.function(global->name.text());
      if (fn && fn->type) return fn->type->as<FnType>();
    }
    return call.callee->type ? call.callee->type->as<FnType>() : nullptr;
  }

  Expr instance_for_call(relay::Builder& b, const Call& call, const Global& global) {
    const std::vector<Type> types(call.type_args.begin(), call.type_args.end());
    if (types.size() != out_.function(global.name.text())->type_params.size()) return &global;
    return instance_of(b, global, types);
  }
  // As a value it is wanted as something of a type that is made of its own.
  Expr instance_for_value(relay::Builder& b, const Global& global, Type type) {
    const Fn* fn = out_.function(global.name.text());
    const auto* general = fn->type ? fn->type->as<FnType>() : nullptr;
    const std::optional<std::vector<Type>> types =
        general && general->type_params.size() == fn->type_params.size() ? types_chosen(*general, type)
                                                                         : std::nullopt;
    return types ? instance_of(b, global, *types) : &global;
  }

  Expr instance_of(relay::Builder& b, const Global& global, const std::vector<Type>& types) {
    if (any_is_generic(types)) return &global;
    const Fn* fn = out_.function(global.name.text());
    std::pair key(global.name, with_own_variables(*fn, types));
    auto it = instances_.find(key);
    if (it == instances_.end()) {
      if (++count_[global.name] > most_) {
        report_too_many(global.span, cat("@", global.name.text()), most_, pass_.diagnostics);
        return &global;
      }
      it = instances_.emplace(key, instantiate(global.name, *fn, key.second)).first;
    }
    SpanScope at(b, global.span);
    return b.global(it->second.text(), out_.function(it->second.text())->type);
  }

  // The types with shape variables that mean nothing to the function: those around the call are
  // not known in it.
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

  Symbol instantiate(Symbol name, const Fn& fn, const std::vector<Type>& types) {
    const Fn* made = with_types(context_, *refresh(context_, &fn)->as<Fn>(), types);
    size_t number = count_[name];
    std::string text = cat(name.text(), "_", number);
    while (out_.function(text) || out_.kernel(text)) text = cat(name.text(), "_", ++number);
    out_.set_function(text, made);
    const Symbol symbol = context_.symbol(text);
    pending_.push_back(symbol);
    return symbol;
  }

  Module out_;
  Context& context_;
  const PassContext& pass_;
  size_t most_;
  bool all_;
  std::set<Symbol> generic_;
  std::map<std::pair<Symbol, std::vector<Type>>, Symbol> instances_;
  std::map<Symbol, size_t> count_;  // of each function's instances
  std::deque<Symbol> pending_;      // functions whose calls have not been looked at
};

Module run(const Module& m, const PassContext& pass) { return Monomorphiser(m, pass).run(); }

}  // namespace

const Pass kMonomorphise = {
    .name = "monomorphise",
    .doc =
        "make generic functions that compute with values of their type parameters into functions of known "
        "types",
    .parameters = {{"max-instances", 64, "the most functions that one generic function becomes"},
                   {"all", 0, "1: also of a function that only passes such values on", 0, 1}},
    .former_name = "specialise",
    .run = run,
};

}  // namespace relay::passes
