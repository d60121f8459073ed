// The types of expressions in functions that are not whole yet, by the checker.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/fields.h"
#include "ir/type_parts.h"
#include "python/errors.h"
#include "python/recording.h"
#include "typecheck/check.h"

namespace relay::python {
namespace {

constexpr const char* kProbe = "probe'";  // no function of Python has this name

bool is_only_ambiguous(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.all()) {
    if (d.severity() == Severity::kError && d.slug() != Slug("ambiguous-type")) return false;
  }
  return true;
}

// What the checker has found of the types, from scope to scope.
class Learner {
 public:
  explicit Learner(NodeMap<Type>& types) : types_(types) {}

  // Follows both programs to the expression that the probe is about.
  void learn_to(Expr was, Expr now, Expr until);

 private:
  void learn(Expr e, Type type) {
    if (type && !type->has_hole && !is_open(type)) types_[e] = type;
  }
  void learn(Pattern was, Pattern now);
  bool is_open(Type type) const;

  NodeMap<Type>& types_;
  std::unordered_set<Type> declared_;  // type parameters of the functions around
};

// Does the type depend on a type parameter that the program does not declare? The checker makes
// these for what is not determined yet.
bool Learner::is_open(Type type) const {
  if (!type->has_type_var) return false;
  std::unordered_set<Type> bound = declared_;
  std::vector<Type> mentioned;
  for_each_type_in(type, [&](Type t) {
    if (t->as<TypeVar>()) mentioned.push_back(t);
    if (const auto* fn = t->as<FnType>()) bound.insert(fn->type_params.begin(), fn->type_params.end());
    return true;
  });
  return std::any_of(mentioned.begin(), mentioned.end(), [&](Type t) { return !bound.contains(t); });
}

void Learner::learn(Pattern was, Pattern now) {
  std::vector<const Var*> before, after;
  for_each_pattern(was, [&](Pattern p) {
    if (p->var) before.push_back(p->var);
  });
  for_each_pattern(now, [&](Pattern p) {
    if (p->var) after.push_back(p->var);
  });
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) learn(before[i], after[i]->type);
}

// The function of a call that `match_shape` made, whose parameter has this name.
const Fn* shape_matched(Expr e, std::string_view name) {
  const auto* call = e->as<Call>();
  const auto* fn = call ? call->callee->as<Fn>() : nullptr;
  return fn && fn->params.size() == 1 && fn->params[0]->name == name ? fn : nullptr;
}

void Learner::learn_to(Expr was, Expr now, Expr until) {
  for (;;) {
    // Where extents are compared when the program runs, the checker has put a call around.
    while (now->kind != was->kind && now->as<Call>()) now = now->as<Call>()->args[0];
    learn(was, now->type);
    if (was == until || now->kind != was->kind) return;
    if (const auto* call = was->as<Call>()) {
      const auto* fn = call->callee->as<Fn>();
      now = fn && fn->params.size() == 1 ? shape_matched(now, fn->params[0]->name.text()) : nullptr;
      if (!now) return;
      was = fn;
    } else if (const auto* fn = was->as<Fn>()) {
      declared_.insert(fn->type_params.begin(), fn->type_params.end());
      for (size_t i = 0; i < fn->params.size(); ++i) learn(fn->params[i], now->as<Fn>()->params[i]->type);
      was = fn->body, now = now->as<Fn>()->body;
    } else if (const auto* let = was->as<Let>()) {
      learn(let->x, now->as<Let>()->x->type);
      was = let->body, now = now->as<Let>()->body;
    } else if (const auto* m = was->as<Match>()) {
      learn(m->arms[0].pattern, now->as<Match>()->arms[0].pattern);
      was = m->arms[0].body, now = now->as<Match>()->arms[0].body;
    } else {
      return;
    }
  }
}

}  // namespace

Module with_mentioned(const Module& module, std::vector<Expr> roots) {
  std::set<std::string_view> kept;
  for (const auto& [name, fn] : module.functions()) {
    if (std::find(roots.begin(), roots.end(), fn) != roots.end()) kept.insert(name.text());
  }
  while (!roots.empty()) {
    const Expr e = roots.back();
    roots.pop_back();
    for (const Symbol name : mentioned_globals(e)) {
      const Fn* fn = module.function(name.text());
      if (fn && kept.insert(name.text()).second) roots.push_back(fn);
    }
  }
  Module out = module;
  for (const auto& [name, fn] : module.functions()) {
    if (!kept.contains(name.text())) out.remove_function(name.text());
  }
  return out;
}

Type find_type(const HomeRef& home, Expr e) {
  if (const Type known = known_type(*home, e)) return known;
  if (!home->recording) return nullptr;
  Recording& r = *home->recording;
  Builder b(home->context());
  Module module = home->module;
  for (size_t i = r.made; i < r.global.size(); ++i)
    module.set_function(r.global[i].name, stand_in(b, r.global[i]));
  Expr inside = e;
  for (size_t s = r.scopes.size(); s-- > 0;) {
    const Scope& scope = r.scopes[s];
    for (size_t i = scope.bindings.size(); i-- > 0;) inside = with_binding(b, scope.bindings[i], inside);
    if (scope.around) inside = scope.around(b, inside);
  }
  const auto* probe = inside->as<Fn>();
  if (!probe) probe = b.fn({}, inside);
  module = with_mentioned(module, {probe});
  module.set_function(kProbe, probe);
  Diagnostics diagnostics;
  const Result<Module> checked = typecheck::check(module, diagnostics);
  if (!checked && !is_only_ambiguous(diagnostics)) raise_diagnostics(diagnostics, home->context().sources());
  if (!checked) return nullptr;
  Learner(r.types).learn_to(probe, checked->function(kProbe), e);
  return r.types.get(e);
}

}  // namespace relay::python
