// expand-grad: grad(f) becomes the function that gives f's value and gradients.
//
//   def @f(%x: float32) { sin(%x) }
//   def @main(%x: float32) { grad(@f)(%x) }       becomes
//   def @main(%x: float32) { @f_grad(%x) }, with @f_grad as the pass `gradient` makes it
//
// The function is one of the module, or a function expression, written there or bound by a let. Of
// a function expression first a function of the module is made, which takes the variables that the
// expression uses as parameters. They are tensors and tuples. Functions whose own bodies ask for
// gradients come after those that they ask for, so that grad(grad(f)) is the second derivative.
//
// Before: what is differentiated has gradients; else the pass says what has none. After: there is
// no grad(f). It runs when a program is read, and so before every level.
#include "passes/expand_grad.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/grad.h"
#include "op/registry.h"
#include "passes/gradient/augment.h"
#include "passes/gradient/checkpoints.h"
#include "passes/gradient/prepare.h"
#include "passes/gradient/straight.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "passes/type_parts.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

bool asks_for_gradient(Expr e) { return op::callee(e) == &op::grad(); }

// A name for a new function, made of one that there is.
std::string new_name(const Module& m, std::string_view of, std::string_view suffix) {
  std::string name = cat(of, suffix);
  while (m.function(name) || m.kernel(name)) name += "_";
  return name;
}

// The module in which functions that this one does not reach have lost their bodies. They keep
// their names, so that new functions get others.
Module reached_from(const Module& m, const std::string& root) {
  std::set<std::string_view> reached{root};
  std::vector<std::string_view> pending{root};
  while (!pending.empty()) {
    const Fn* fn = m.function(pending.back());
    pending.pop_back();
    for (Symbol name : mentioned_globals(fn)) {
      if (m.function(name.text()) && reached.insert(name.text()).second) pending.push_back(name.text());
    }
    const std::string own = gradient::own_gradient(fn);
    const auto found = own.empty() ? m.functions().end() : m.functions().find(own);
    if (found != m.functions().end() && reached.insert(found->first.text()).second)
      pending.push_back(found->first.text());
  }
  Module out = m;
  Builder b(m.context());
  for (const auto& [name, fn] : m.functions()) {
    if (!reached.contains(name.text())) out.set_function(name.str(), b.fn({}, b.tuple({}), nullptr));
  }
  return out;
}

class Expander {
 public:
  Expander(const Module& m, const PassContext& pass) : m_(m), pass_(pass), b_(m.context()) {}

  // Each round replaces what needs no other gradient; so there are as many as `grad` is nested.
  Result<Module> run() {
    for (;;) {
      find_functions_that_ask();
      if (asking_.empty()) return m_;
      const size_t errors = pass_.diagnostics.errors();
      if (!expand_some() && pass_.diagnostics.errors() == errors) refuse_recursion();
      if (pass_.diagnostics.errors() > errors) return kReported;
      const Result<Module> typed = typecheck::check(m_, pass_.diagnostics);
      if (!typed) return kReported;
      m_ = *typed;
    }
  }

 private:
  // asking_: functions that mention `grad`, and those that reach one.
  void find_functions_that_ask() {
    asking_.clear();
    std::map<std::string_view, std::vector<std::string_view>> callers;
    std::vector<std::string_view> pending;
    for (const auto& [name, fn] : m_.functions()) {
      for (Symbol callee : mentioned_globals(fn)) callers[callee.text()].push_back(name.text());
      for (Expr e : post_order(fn)) {
        const auto* ref = e->as<OpRef>();
        if (ref && ref->op == &op::grad() && asking_.insert(name.text()).second)
          pending.push_back(name.text());
      }
    }
    while (!pending.empty()) {
      const std::string_view name = pending.back();
      pending.pop_back();
      for (std::string_view caller : callers[name]) {
        if (asking_.insert(caller).second) pending.push_back(caller);
      }
    }
  }

  // Is anything replaced?
  bool expand_some() {
    bool any = false;
    const Module before = m_;
    for (const auto& [name, fn] : before.functions()) {
      if (!asking_.contains(name.text())) continue;
      std::unordered_map<const Var*, const Fn*> bound;
      for (Expr e : post_order(fn)) {
        if (const auto* let = e->as<Let>(); let && let->value->as<Fn>()) bound[let->x] = let->value->as<Fn>();
      }
      std::unordered_map<Expr, Expr> by;
      for (Expr e : post_order(fn)) {
        if (!asks_for_gradient(e)) continue;
        if (const Expr now = gradient_of(*e->as<Call>(), name.text(), bound)) by[e] = now;
      }
      if (by.empty()) continue;
      any = true;
      // A site is replaced as it was: nothing in it is.
      m_.set_function(name.str(), rewrite(m_.context(), fn, [&](relay::Builder&, Expr e) {
                                    const auto found = by.find(e);
                                    return found == by.end() ? e : found->second;
                                  })->as<Fn>());
    }
    return any;
  }

  bool is_ready(Expr function) {
    for (Expr e : post_order(function)) {
      const auto* global = e->as<Global>();
      if (asks_for_gradient(e) || (global && asking_.contains(global->name.text()))) return false;
    }
    return true;
  }

  // What stands for grad(f); null if f asks for a gradient itself, or after an error.
  Expr gradient_of(const Call& site, std::string_view within,
                   const std::unordered_map<const Var*, const Fn*>& bound) {
    const SpanScope at(b_, site.span);
    const Expr f = site.args[0];
    if (const auto* global = f->as<Global>(); global && m_.function(global->name.text())) {
      if (!is_ready(f)) return nullptr;
      const std::string name = gradient_of(global->name.str(), 0);
      return name.empty() ? nullptr : b_.global(name);
    }
    const auto* var = f->as<Var>();
    const auto found = var ? bound.find(var) : bound.end();
    const Fn* fn = found == bound.end() ? f->as<Fn>() : found->second;
    if (!fn) {
      if (asks_for_gradient(f)) return nullptr;  // of what comes in its place
      pass_.diagnostics
          .error(f->span.known() ? f->span : site.span, "not-differentiable",
                 "`grad` takes a function that is known when the program is compiled")
          .note(
              "a function of the module, `grad(@f)`; a function expression; or a variable that a let binds "
              "to one");
      return nullptr;
    }
    return is_ready(fn) ? gradient_of(site, *fn, found == bound.end() ? nullptr : var, within) : nullptr;
  }

  // Of a function expression: fn (xs) { @lifted_grad(captured..., xs) }. `self`: the variable of
  // the let that binds it; null if none does.
  Expr gradient_of(const Call& site, const Fn& fn, const Var* self, std::string_view within) {
    std::vector<const Var*> captured, params;
    for (const Var* v : free_vars(&fn)) {
      if (v == self) continue;
      if (!is_of_tensors(v->type)) {
        pass_.diagnostics
            .error(site.span, "not-differentiable",
                   cat("`grad` takes a function that uses tensors of its surroundings; `%", v->name.text(),
                       "` is of the type `", show(v->type, 100), "`"))
            .note("make it a parameter of a function of the module, or what it does a part of the function");
        return nullptr;
      }
      captured.push_back(v);
    }
    std::unordered_map<const Var*, Expr> by;
    std::vector<Expr> args;
    for (const Var* v : captured) {
      params.push_back(b_.var(v->name.text(), v->type));
      by[v] = params.back();
    }
    const std::vector<const Var*> free = free_vars(&fn);
    const bool recurs = self && std::find(free.begin(), free.end(), self) != free.end();
    const Var* own = recurs ? b_.var(self->name.text()) : nullptr;
    if (recurs) by[self] = own;
    const Fn* copy = substitute(m_.context(), refresh(m_.context(), &fn), by)->as<Fn>();
    if (recurs) {
      for (const Var* p : fn.params) {
        params.push_back(b_.var(p->name.text(), p->type));
        args.push_back(params.back());
      }
    } else {
      params.insert(params.end(), copy->params.begin(), copy->params.end());
    }
    const Expr body = recurs ? b_.let(own, copy, b_.call(own, args)) : copy->body;
    const std::string lifted = new_name(m_, within, "_function");
    m_.set_function(lifted, b_.fn(params, body, nullptr));
    const Result<Module> typed = typecheck::check(m_, pass_.diagnostics);
    if (!typed) return nullptr;
    m_ = *typed;
    const std::string name = gradient_of(lifted, captured.size());
    if (name.empty()) return nullptr;
    std::vector<const Var*> xs;
    std::vector<Expr> all(captured.begin(), captured.end());
    for (const Var* p : fn.params) {
      xs.push_back(b_.var(p->name.text(), p->annotation ? p->annotation : p->type));
      all.push_back(xs.back());
    }
    return b_.fn(xs, b_.call(b_.global(name), all), nullptr);
  }

  // The name of the function that gives the value and the gradients of the parameters from `first`
  // on. Empty after an error.
  std::string gradient_of(const std::string& root, size_t first) {
    const auto known = gradients_.find(root);
    if (known != gradients_.end()) return known->second;
    if (!gradient::own_gradient(m_.function(root)).empty())
      return gradients_[root] = gradient_of_caller(root);
    const Module part = reached_from(m_, root);
    const PassContext inner{pass_.diagnostics, pass_.values, pass_.target, pass_.schedule};
    const Result<Module> known_types = gradient::prepared(part, inner);
    const Result<Module> ready =
        known_types ? gradient::with_checkpoints(*known_types, pass_.diagnostics) : Result<Module>(kReported);
    if (!ready) return {};
    gradient::Wanted wanted;
    wanted.first = first;
    wanted.root = root;
    wanted.into = new_name(*ready, root, "_grad");
    const gradient::Program program(*ready, wanted, pass_.diagnostics);
    const size_t errors = pass_.diagnostics.errors();
    if (!program.is_differentiable()) return {};
    const Module out = program.is_straight() ? gradient::differentiate_straight(program)
                                             : gradient::differentiate_any(program);
    if (pass_.diagnostics.errors() > errors) return {};
    for (const auto& [name, def] : out.data_types()) {
      if (!m_.data_type(name.text())) m_.set_data_type(def);
    }
    for (const auto& [name, fn] : out.functions()) {
      if (!m_.function(name.text())) m_.set_function(name.str(), fn);
    }
    return gradients_[root] = wanted.into;
  }

  // Of a function that calls this one: what is differentiated goes by its body, not by the gradient
  // that it names.
  std::string gradient_of_caller(const std::string& root) {
    const Fn* fn = m_.function(root);
    std::vector<const Var*> params;
    for (const Var* p : fn->params) params.push_back(b_.var(p->name.text(), p->type));
    const std::vector<Expr> args(params.begin(), params.end());
    const std::string caller = new_name(m_, root, "_call");
    m_.set_function(caller, b_.fn(params, b_.call(b_.global(root), args), nullptr));
    const Result<Module> typed = typecheck::check(m_, pass_.diagnostics);
    if (!typed) return {};
    m_ = *typed;
    return gradient_of(caller, 0);
  }

  // Every function that asks waits for another one that does; or `grad` is a value.
  void refuse_recursion() {
    for (std::string_view name : asking_) {
      for (Expr e : post_order(m_.function(name))) {
        if (!asks_for_gradient(e)) continue;
        pass_.diagnostics
            .error(e->span, "not-differentiable",
                   cat("this gradient is of a function that asks for the gradient itself, in `@", name, "`"))
            .note("`grad(f)` has no end if f, or what f calls, is that very expression");
        return;
      }
    }
    pass_.diagnostics.error(m_.function(*asking_.begin())->span, "not-differentiable",
                            "`grad` is no value: it is called with the function, `grad(@f)`");
  }

  Module m_;
  const PassContext& pass_;
  Builder b_;
  std::set<std::string_view> asking_;
  std::map<std::string, std::string> gradients_;  // by the function's name
};

bool has_grad(const Module& m) {
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      const auto* ref = e->as<OpRef>();
      if (ref && ref->op == &op::grad()) return true;
    }
  }
  return false;
}

Module run(const Module& m, const PassContext& pass) {
  if (!has_grad(m)) return m;
  const Result<Module> out = Expander(m, pass).run();
  return out ? *out : m;
}

}  // namespace

Result<Module> without_grad(const Module& m, Diagnostics& diagnostics) {
  if (!has_grad(m)) return m;
  const PassContext pass{diagnostics, {}, target::default_target(), {}};
  return Expander(m, pass).run();
}

const Pass kExpandGrad = {
    .name = "expand-grad",
    .doc = "replace grad(f) by the function that gives the value and the gradients of f",
    .run = run,
};

}  // namespace relay::passes
