// expand-grad: grad(f) becomes the function that gives f's value and gradients.
//
//   def @f(%x: float32) { sin(%x) }
//   def @main(%x: float32) { grad(@f)(%x) }       becomes
//   def @main(%x: float32) { @f_grad(%x) }, with @f_grad as the pass `gradient` makes it
//
// The function is one of the module, or a function expression, written there or bound by a let. Of
// a function expression first a function of the module is made, which takes the variables that the
// expression uses as parameters. They are tensors, tuples and data types, and constants. Functions
// whose own bodies ask for gradients come after those that they ask for, so that grad(grad(f)) is
// the second derivative.
//
// Before: what is differentiated has gradients; else the pass says what has none. After: there is
// no grad(f). It runs when a program is read, and so before every level.
#include "passes/expand_grad.h"

#include <map>
#include <set>
#include <unordered_map>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/grad.h"
#include "op/registry.h"
#include "passes/gradient/constants.h"
#include "passes/gradient/functions.h"
#include "passes/gradient/kernels.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

bool asks_for_gradient(Expr e) { return op::callee(e) == &op::grad(); }

// Where a program asks for a gradient, and of which function of the module.
struct Site {
  const Call* call;
  const Fn* in;                        // the function that it stands in
  std::string within;                  // its name
  std::string root;                    // what is differentiated; its first parameters are `captured`
  const Fn* expression = nullptr;      // the function expression that the root was made of
  std::vector<const Var*> captured{};  // the variables that it uses

  Site(const Call& at, const Fn* function, std::string_view name) : call(&at), in(function), within(name) {}
};

class Expander {
 public:
  Expander(const Module& m, const PassContext& pass) : m_(m), pass_(pass), b_(m.context()) {}

  // Each round replaces what needs no other gradient; so there are as many as `grad` is nested. A
  // round does linear work.
  Result<Module> run() {
    if (is_nested_too_deeply()) return kReported;
    for (int round = 0;; ++round) {
      find_functions_that_ask();
      if (asking_.empty()) return m_;
      if (round >= kFreeRounds && is_too_large(round)) return kReported;
      const size_t errors = pass_.diagnostics.errors();
      std::vector<Site> sites = ready_sites();
      if (sites.empty() && pass_.diagnostics.errors() == errors) refuse_recursion();
      if (pass_.diagnostics.errors() > errors) return kReported;
      if (!add_gradients(sites) || !type_check()) return kReported;
      replace(sites);
      if (!type_check()) return kReported;
    }
  }

 private:
  // A derivative is about twice as large as what it is of, and each order is a round over the
  // program. So a short text asks for any size and time by its order. Derivatives of the first two
  // orders are free: a large program may have them.
  static constexpr int kFreeRounds = 2;
  static constexpr size_t kMostExpressions = size_t{1} << 16;

  bool is_too_large(int round) {
    seen_ += size_;
    if (seen_ <= kMostExpressions) return false;
    refuse_order(*m_.function(*asking_.begin()), cat("the programs of the derivatives up to order ", round,
                                                     " have ", seen_, " expressions, more than the limit of ",
                                                     kMostExpressions, " for one of a higher order"));
    return true;
  }

  // After k rounds at least n - k of n nested calls are left. So from this n on the sizes of all
  // rounds are above the limit, whatever is differentiated, and no round is needed to see it.
  static constexpr size_t kDeepest = 365;
  static_assert((kDeepest - kFreeRounds) * (kDeepest - kFreeRounds - 1) / 2 > kMostExpressions);

  bool is_nested_too_deeply() {
    for (const auto& [name, fn] : m_.functions()) {
      std::unordered_map<Expr, size_t> depths;
      for (Expr e : post_order(fn)) {
        if (!asks_for_gradient(e)) continue;
        const auto inner = depths.find(e->as<Call>()->args[0]);
        const size_t depth = inner == depths.end() ? 1 : inner->second + 1;
        depths[e] = depth;
        if (depth < kDeepest) continue;
        refuse_order(*fn, cat("a derivative of an order above ", kDeepest - 1));
        return true;
      }
    }
    return false;
  }

  void refuse_order(const Fn& asks, const std::string& why) {
    pass_.diagnostics.error(asks.span, "limit-nodes", cat("`grad` within `grad`: ", why))
        .note("take derivatives of lower orders, or write the inner ones out and simplify them");
  }

  // asking_: functions that mention `grad`, and those that reach one. size_: expressions of all.
  void find_functions_that_ask() {
    asking_.clear();
    size_ = 0;
    std::map<std::string_view, std::vector<std::string_view>> callers;
    std::vector<std::string_view> pending;
    for (const auto& [name, fn] : m_.functions()) {
      for (Symbol callee : mentioned_globals(fn)) callers[callee.text()].push_back(name.text());
      const std::vector<Expr> order = post_order(fn);
      size_ += order.size();
      for (Expr e : order) {
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

  bool type_check() {
    Result<Module> typed = typecheck::check(m_, pass_.diagnostics);
    if (typed) m_ = std::move(*typed);
    return typed.ok();
  }

  // The sites whose functions ask for no gradient themselves. Makes functions of the module of
  // function expressions. Reports functions that have no gradient.
  std::vector<Site> ready_sites() {
    std::vector<Site> out;
    const Module before = m_;
    for (const auto& [name, fn] : before.functions()) {
      if (!asking_.contains(name.text())) continue;
      const std::vector<Expr> order = post_order(fn);
      std::unordered_map<const Var*, const Fn*> bound;
      for (Expr e : order) {
        if (const auto* let = e->as<Let>(); let && let->value->as<Fn>()) bound[let->x] = let->value->as<Fn>();
      }
      for (Expr e : order) {
        if (!asks_for_gradient(e)) continue;
        Site site(*e->as<Call>(), fn, name.text());
        if (find_root(site, bound)) out.push_back(std::move(site));
      }
    }
    return out;
  }

  // Adds the functions that give the gradients, all at once.
  bool add_gradients(const std::vector<Site>& sites) {
    // What was made of function expressions has no types yet.
    if (!type_check()) return false;
    std::vector<gradient::Wanted> roots;
    std::map<std::string, std::string> callers;  // of functions that name a gradient
    for (const Site& site : sites) {
      if (gradients_.contains(site.root) || callers.contains(site.root)) continue;
      if (!gradient::own_gradient(m_.function(site.root)).empty()) {
        callers[site.root] = caller_of(site.root);
        continue;
      }
      gradients_[site.root];  // a root is wanted once
      roots.push_back({.first = site.captured.size(), .root = site.root});
    }
    if (!callers.empty() && !type_check()) return false;
    for (const auto& [name, caller] : callers) roots.push_back({.root = caller});
    Result<Module> out = gradient::with_gradients(m_, roots, pass_);
    if (!out) return false;
    m_ = std::move(*out);
    for (const gradient::Wanted& wanted : roots) gradients_[wanted.root] = wanted.into;
    for (const auto& [name, caller] : callers) gradients_[name] = gradients_.at(caller);
    return true;
  }

  // A site is replaced as it was: nothing in it is.
  void replace(const std::vector<Site>& sites) {
    std::map<std::string, const Fn*> functions;
    std::unordered_map<Expr, Expr> by;
    for (const Site& site : sites) {
      functions[site.within] = site.in;
      by[site.call] = in_place_of(site);
    }
    for (const auto& [name, fn] : functions) {
      m_.set_function(name, rewrite(m_.context(), fn, [&](relay::Builder&, Expr e) {
                              const auto found = by.find(e);
                              return found == by.end() ? e : found->second;
                            })->as<Fn>());
    }
  }

  // The function that gives the gradient. Of a function expression:
  // fn (xs) { @lifted_grad(captured..., xs) }.
  Expr in_place_of(const Site& site) {
    const SpanScope at(b_, site.call->span);
    const Expr global = b_.global(gradients_.at(site.root));
    if (!site.expression) return global;
    std::vector<const Var*> xs;
    std::vector<Expr> all(site.captured.begin(), site.captured.end());
    for (const Var* p : site.expression->params) {
      xs.push_back(b_.var(p->name.text(), p->annotation ? p->annotation : p->type));
      all.push_back(xs.back());
    }
    return b_.fn(xs, b_.call(global, all), nullptr);
  }

  bool is_ready(Expr function) {
    for (Expr e : post_order(function)) {
      const auto* global = e->as<Global>();
      if (asks_for_gradient(e) || (global && asking_.contains(global->name.text()))) return false;
    }
    return true;
  }

  // What the site differentiates. False if that asks for a gradient itself, or after an error.
  bool find_root(Site& site, const std::unordered_map<const Var*, const Fn*>& bound) {
    const Expr f = site.call->args[0];
    if (const auto* global = f->as<Global>(); global && m_.function(global->name.text())) {
      site.root = global->name.str();
      return is_ready(f);
    }
    if (const auto* global = f->as<Global>(); global && m_.kernel(global->name.text())) {
      std::string& caller = kernel_callers_[global->name.str()];
      if (caller.empty()) {
        caller = new_name(global->name.str(), "_call");
        m_.set_function(caller, gradient::caller_of_kernel(m_.context(), global->name.text(),
                                                           *m_.kernel(global->name.text())));
      }
      site.root = caller;
      return true;
    }
    const auto* var = f->as<Var>();
    const auto found = var ? bound.find(var) : bound.end();
    site.expression = found == bound.end() ? f->as<Fn>() : found->second;
    if (site.expression) return is_ready(site.expression) && lift(site, var);
    if (asks_for_gradient(f)) return false;  // of what comes in its place
    pass_.diagnostics
        .error(f->span.known() ? f->span : site.call->span, "not-differentiable",
               "`grad` takes a function that is known when the program is compiled")
        .note(
            "a function of the module, `grad(@f)`; a function expression; or a variable that a let binds "
            "to one");
    return false;
  }

  // Makes a function of the module of a function expression. `self`: the variable of the let that
  // binds it; null if none does. False after an error.
  bool lift(Site& site, const Var* self) {
    const SpanScope at(b_, site.call->span);
    const Fn& fn = *site.expression;
    std::unordered_map<const Var*, Expr> by;
    std::vector<const Var*> params;
    bool recurs = false;
    for (const Var* v : free_vars(&fn)) {
      if (v == self) {
        recurs = true;
        continue;
      }
      if (const std::string why = gradient::why_no_constant(m_, v->type); !why.empty()) {
        pass_.diagnostics
            .error(site.call->span, "not-differentiable",
                   cat("`grad` takes a function that uses constants of its surroundings; `%", v->name.text(),
                       "` is of the type `", show(v->type, 100), "`, and ", why))
            .note("make it a parameter of a function of the module, or what it does a part of the function");
        return false;
      }
      site.captured.push_back(v);
      params.push_back(b_.var(v->name.text(), v->type));
      by[v] = params.back();
    }
    const Var* own = recurs ? b_.var(self->name.text()) : nullptr;
    if (recurs) by[self] = own;
    const Fn* copy = substitute(m_.context(), refresh(m_.context(), &fn), by)->as<Fn>();
    std::vector<Expr> args;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      params.push_back(recurs ? b_.var(fn.params[i]->name.text(), fn.params[i]->type) : copy->params[i]);
      args.push_back(params.back());
    }
    const Expr body = recurs ? b_.let(own, copy, b_.call(own, args)) : copy->body;
    site.root = new_name(site.within, "_function");
    m_.set_function(site.root, b_.fn(params, body, nullptr));
    return true;
  }

  // Of a function that names its gradient: what is differentiated calls it, and so goes by its body
  // and not by that name.
  std::string caller_of(const std::string& root) {
    std::vector<const Var*> params;
    for (const Var* p : m_.function(root)->params) params.push_back(b_.var(p->name.text(), p->type));
    const std::vector<Expr> args(params.begin(), params.end());
    const std::string caller = new_name(root, "_call");
    m_.set_function(caller, b_.fn(params, b_.call(b_.global(root), args), nullptr));
    return caller;
  }

  // A name for a new function, made of one that there is: @f_function, @f_function_2, ...
  std::string new_name(std::string_view of, std::string_view suffix) {
    const std::string first = cat(of, suffix);
    size_t& count = names_[first];
    std::string name;
    do {
      name = ++count == 1 ? first : cat(first, "_", count);
    } while (m_.function(name) || m_.kernel(name));
    return name;
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
  size_t size_ = 0;
  size_t seen_ = 0;  // expressions of the program in all rounds that are not free
  std::set<std::string_view> asking_;
  std::map<std::string, std::string> gradients_;       // by the function's name
  std::map<std::string, std::string> kernel_callers_;  // functions that call a kernel, by its name
  std::map<std::string, size_t> names_;                // how often each was given, with a number
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

Result<Module> checked(const Module& read, Diagnostics& diagnostics) {
  const Result<Module> typed = typecheck::check(read, diagnostics);
  return typed ? without_grad(*typed, diagnostics) : Result<Module>(kReported);
}

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
