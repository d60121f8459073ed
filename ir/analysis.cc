// Free variables, mentioned globals, and the scopes in which shared nodes are evaluated.
#include "ir/analysis.h"

#include <algorithm>
#include <set>

namespace relay {
namespace {

// The tree of scopes, with a second, far-reaching pointer upwards from each, so that the
// lowest common ancestor of two takes logarithmic time (Myers, "An applicative
// random-access stack", 1983).
class ScopeTree {
 public:
  uint32_t root() { return add(0); }
  uint32_t add(uint32_t parent) {
    const auto index = static_cast<uint32_t>(up_.size());
    if (index == 0) {
      up_.push_back({0, 0, 0});
      return 0;
    }
    const Up p = up_[parent], j = up_[p.jump];
    const bool far = p.depth - j.depth == j.depth - up_[j.jump].depth;
    up_.push_back({parent, far ? j.jump : parent, p.depth + 1});
    return index;
  }
  uint32_t common(uint32_t a, uint32_t b) const {
    if (up_[a].depth < up_[b].depth) std::swap(a, b);
    while (up_[a].depth > up_[b].depth)
      a = up_[up_[a].jump].depth >= up_[b].depth ? up_[a].jump : up_[a].parent;
    while (a != b) {
      const bool far = up_[a].jump != up_[b].jump;
      a = far ? up_[a].jump : up_[a].parent;
      b = far ? up_[b].jump : up_[b].parent;
    }
    return a;
  }

 private:
  struct Up {
    uint32_t parent, jump, depth;
  };
  std::vector<Up> up_;
};

}  // namespace

bool opens_scope(Expr user, size_t child) {
  switch (user->kind) {
    case ExprKind::kFn: return true;
    case ExprKind::kLet:
    case ExprKind::kIf:
    case ExprKind::kMatch: return child > 0;
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return false;
  }
  return false;
}

Runs scopes_run(Expr user) {
  switch (user->kind) {
    case ExprKind::kFn: return Runs::kAnyTimes;
    case ExprKind::kIf:
    case ExprKind::kMatch: return Runs::kAtMostOnce;
    case ExprKind::kLet:
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return Runs::kOnce;
  }
  return Runs::kOnce;
}

std::vector<const Var*> free_vars(Expr e) {
  const std::vector<Expr> order = post_order(e);
  NodeMap<bool> bound;
  for (Expr node : order) {
    for_each_binder(node, [&](const Var* v) { bound[v] = true; });
  }
  std::vector<const Var*> found;
  for (Expr node : order) {
    const auto* v = node->as<Var>();
    if (v && !bound.get(v)) found.push_back(v);
  }
  return found;
}

std::vector<Symbol> mentioned_globals(Expr e) {
  std::set<Symbol> found;
  for (Expr node : post_order(e)) {
    if (const auto* g = node->as<Global>()) found.insert(g->name);
  }
  return {found.begin(), found.end()};
}

// Parents come before children in the reverse of a post-order, so that a node's scope is final when
// its own children are looked at. O(edges * log depth).
Scopes scopes(Expr root) {
  Scopes out;
  ScopeTree tree;
  tree.root();
  out.all.push_back({root, 0, {}});
  out.uses[root] = 0;
  const std::vector<Expr> order = post_order(root);
  for (size_t i = order.size(); i-- > 0;) {
    const Expr e = order[i];
    const uint32_t here = out.scope_of[e];
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      uint32_t scope = here;
      if (opens_scope(e, position++)) {
        scope = tree.add(here);
        if (out.opens.get(e) == 0) out.opens[e] = scope;  // scope 0 is opened by nobody
        out.all.push_back({child, here, {}});
        // A body that is used elsewhere too is evaluated above, and then no node is shared
        // in its own scope.
        out.scope_of_body[child] = scope;
      }
      uint32_t& uses = out.uses[child];
      uint32_t& lowest = out.scope_of[child];
      lowest = uses == 0 ? scope : tree.common(lowest, scope);
      ++uses;
    });
  }
  for (Expr e : order) {
    if (!is_leaf(e) && out.uses[e] > 1) out.all[out.scope_of[e]].shared.push_back(e);
  }
  return out;
}

}  // namespace relay
