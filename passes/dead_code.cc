// dead-code: lets whose value nobody uses and that nobody can notice, and functions that
// @main does not reach.
//
// What traps, calls an unknown function, or touches a reference cell stays: evaluating
// it can be noticed.
//
// Before: nothing is asked for. After: @main reaches each function, and each let that is left is
// used or can be noticed.
#include <set>
#include <utility>

#include "analysis/effects.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "passes/each_function.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Variables of lets that can go: nothing live mentions them, and evaluating their value cannot be
// noticed. Linear: a value is looked into only once its variable turns out to be needed.
std::set<const Var*> dead_variables(const Module& m, Expr root) {
  analysis::Effects effects(m, root);
  NodeMap<const Let*> binding;
  const std::vector<Expr> order = post_order(root);
  for (Expr e : order) {
    if (const auto* let = e->as<Let>()) binding[let->x] = let;
  }
  NodeMap<uint8_t> live;
  std::vector<Expr> pending{root};
  while (!pending.empty()) {
    Expr e = pending.back();
    pending.pop_back();
    if (std::exchange(live[e], 1)) continue;
    if (const auto* let = e->as<Let>()) {
      if (!effects.silent(let->value)) pending.push_back(let->value);
      pending.push_back(let->body);
    } else {
      if (const Let* let = binding.get(e)) pending.push_back(let->value);
      for_each_child(e, [&](Expr child) { pending.push_back(child); });
    }
  }
  std::set<const Var*> dead;
  for (Expr e : order) {
    const auto* let = e->as<Let>();
    if (let && live.get(let) && !live.get(let->x) && effects.silent(let->value)) dead.insert(let->x);
  }
  return dead;
}

Expr sweep(const Module& m, Expr root) {
  const std::set<const Var*> dead = dead_variables(m, root);
  if (dead.empty()) return root;
  return rewrite(m.context(), root, [&](relay::Builder&, Expr e) -> Expr {
    const auto* let = e->as<Let>();
    return let && dead.contains(let->x) ? let->body : e;
  });
}

Module sweep(const Module& m) {
  return with_each_function(m, [&](const Fn* fn) { return sweep(m, fn); });
}

Module run(const Module& m, const PassContext&) {
  // Without a let, its body is no scope of its own.
  Module out = with_inserted_lets(m, [](const Module& now, analysis::TrapOrder) { return sweep(now); });
  if (!out.function("main")) return out;
  std::set<Symbol> reached;
  std::vector<Symbol> pending{m.context().symbol("main")};
  while (!pending.empty()) {
    const Symbol name = pending.back();
    pending.pop_back();
    if (!reached.insert(name).second) continue;
    if (const Fn* fn = out.function(name.text())) {
      for (Symbol other : mentioned_globals(fn)) pending.push_back(other);
    }
  }
  const Module swept = out;
  for (const auto& [name, fn] : swept.functions()) {
    if (!reached.contains(name)) out.remove_function(name.text());
  }
  return out;
}

}  // namespace

const Pass kDeadCode = {
    .name = "dead-code",
    .doc = "remove lets nobody uses and functions @main does not reach",
    .run = run,
};

}  // namespace relay::passes
