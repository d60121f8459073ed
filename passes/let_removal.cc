#include "passes/let_removal.h"

#include <vector>

#include "analysis/recursion.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"

namespace relay::passes {

NodeMap<LetUses> let_uses(Expr root) {
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
  NodeMap<LetUses> out;
  for (const Let* let : analysis::recursive_lets(root)) out[let->x].in_itself = true;
  for (Expr user : order) {
    size_t position = 0;
    for_each_child(user, [&](Expr child) {
      const bool called = user->kind == ExprKind::kCall && position++ == 0;
      const Let* let = child->kind == ExprKind::kVar ? binding.get(child) : nullptr;
      // The body of a function is evaluated in it, whoever the user is.
      const uint32_t where =
          scopes_run(user) == Runs::kAnyTimes ? found.opens.get(user) : around[found.scope_of.get(user)];
      if (let && where != function_of(let)) out[child].in_function = true;
      if (let && !called) out[child].as_value = true;
    });
  }
  return out;
}

Expr remove_lets(Context& context, Expr root, const std::function<bool(const Let&, LetUses)>& goes) {
  const NodeMap<LetUses> uses = let_uses(root);
  const std::vector<Expr> order = post_order(root);
  NodeMap<const Let*> binding;
  for (Expr e : order) {
    if (const auto* let = e->as<Let>()) binding[let->x] = let;
  }
  NodeMap<Expr> now;
  for (Expr e : order) {
    const Let* bound = e->kind == ExprKind::kVar ? binding.get(e) : nullptr;
    const auto* let = e->as<Let>();
    if (bound && goes(*bound, uses.get(e))) {
      now[e] = now.get(bound->value);  // a let's value comes before the uses of its name
    } else if (let && goes(*let, uses.get(let->x))) {
      now[e] = now.get(let->body);
    } else {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(context, e, children);
    }
  }
  return now.get(root);
}

}  // namespace relay::passes
