// inline-lets: what a let names takes the place of its name, so that dataflow is a graph
// and not a sequence.
//
// The value becomes a node that all uses share, which is evaluated once where the first scope with
// all uses begins: later than the let or not at all, so it has to be silent. A use inside a
// function is another matter: there it would be evaluated in each call. Constants and other names
// are no evaluations, and are put everywhere.
#include "analysis/effects.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/registry.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Dataflow: what fusion and the memory plan look through.
bool is_dataflow(const analysis::UserKernels& kernels, Expr e) {
  if (const auto* call = e->as<Call>()) return op::callee(*call) || kernels.callee(call);
  return e->kind == ExprKind::kTuple || e->kind == ExprKind::kProj;
}

Expr inline_lets(const Module& m, Expr root) {
  // Of each scope, the scope that is the body of the function around.
  const Scopes found = scopes(root);
  std::vector<uint32_t> around(found.all.size(), 0);
  std::vector<bool> is_function(found.all.size(), false);
  const std::vector<Expr> order = post_order(root);
  for (Expr e : order) {
    if (scopes_run(e) == Runs::kAnyTimes) is_function[found.opens.get(e)] = true;
  }
  for (uint32_t i = 1; i < found.all.size(); ++i)
    around[i] = is_function[i] ? i : around[found.all[i].parent];
  const auto function_of = [&](Expr e) { return around[found.scope_of.get(e)]; };

  NodeMap<const Let*> binding;
  for (Expr e : order) {
    if (const auto* let = e->as<Let>()) binding[let->x] = let;
  }
  NodeMap<bool> kept;    // variables that are used in a function inside
  NodeMap<bool> passed;  // those that are not just called
  for (Expr user : order) {
    size_t position = 0;
    for_each_child(user, [&](Expr child) {
      const bool called = user->kind == ExprKind::kCall && position++ == 0;
      const Let* let = child->kind == ExprKind::kVar ? binding.get(child) : nullptr;
      // The body of a function is evaluated in it, whoever the user is.
      const uint32_t where =
          scopes_run(user) == Runs::kAnyTimes ? found.opens.get(user) : around[found.scope_of.get(user)];
      if (let && where != function_of(let)) kept[child] = true;
      if (let && !called) passed[child] = true;
    });
  }

  const analysis::UserKernels kernels(m);
  analysis::Effects effects(m);
  const auto goes = [&](const Let* let) {
    if (let->value->type != let->x->type) return false;  // the name is said to be less than the value is
    // The annotation may be all that says at which types an operator is a value.
    if (let->value->kind == ExprKind::kOpRef && let->x->annotation && passed.get(let->x)) return false;
    return is_leaf(let->value) ||
           (is_dataflow(kernels, let->value) && !kept.get(let->x) && effects.silent(let->value));
  };
  NodeMap<Expr> now;
  for (Expr e : order) {
    const Let* bound = e->kind == ExprKind::kVar ? binding.get(e) : nullptr;
    const auto* let = e->as<Let>();
    if (bound && goes(bound)) {
      now[e] = now.get(bound->value);  // a let's value comes before the uses of its name
    } else if (let && goes(let)) {
      now[e] = now.get(let->body);
    } else {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(m.context(), e, children);
    }
  }
  return now.get(root);
}

Module inline_lets(const Module& m) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    const Expr inlined = inline_lets(m, fn);
    if (inlined != fn) out.set_function(name.text(), inlined->as<Fn>());
  }
  return out;
}

// Without a let, its body is no scope of its own.
Module run(const Module& m, const PassContext&) {
  return with_inserted_lets(m, [](const Module& now, analysis::TrapOrder) { return inline_lets(now); });
}

}  // namespace

const Pass kInlineLets = {
    .name = "inline-lets",
    .doc = "put what lets name into the places of the names, so that it can be fused",
    .run = run,
};

}  // namespace relay::passes
