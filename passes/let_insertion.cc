#include "passes/let_insertion.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/cat.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "passes/each_function.h"
#include "passes/trap_order.h"

namespace relay::passes {
namespace {

class SharedLets {
 public:
  SharedLets(const Module& m, Expr root) : b_(m.context()), effects_(m, root), scopes_(scopes(root)) {}

  Expr run(Expr root, const std::function<bool(Expr)>& which) {
    const auto wanted = [&](Expr e) { return e->kind != ExprKind::kFn && which(e); };
    bool any = false;
    for (const Scopes::Scope& scope : scopes_.all) {
      if (std::none_of(scope.shared.begin(), scope.shared.end(), wanted)) continue;
      any = true;
      for (Expr e : scope.shared) {
        if (e->kind == ExprKind::kFn || (effects_.silent(e) && !wanted(e))) continue;
        const SpanScope at(b_, e->span);
        name_[e] = b_.with_type(b_.var(cat("shared", count_++)), e->type)->as<Var>();
      }
    }
    if (!any) return root;
    for (Expr e : post_order(root)) {
      std::vector<Expr> children;
      uint32_t scope = scopes_.opens.get(e);
      for_each_child(e, [&](Expr child) {
        const Var* name = name_.get(child);
        Expr now = name ? name : now_.get(child);
        if (opens_scope(e, children.size())) now = with_lets(scope++, now);
        children.push_back(now);
      });
      now_[e] = with_children(b_.context(), e, children);
    }
    return now_.get(root);
  }

 private:
  Expr with_lets(uint32_t scope, Expr body) {
    const std::vector<Expr>& shared = scopes_.all[scope].shared;
    for (size_t i = shared.size(); i-- > 0;) {
      if (const Var* name = name_.get(shared[i])) {
        const SpanScope at(b_, shared[i]->span);
        body = b_.let(name, now_.get(shared[i]), body);
      }
    }
    return body;
  }

  Builder b_;
  analysis::Effects effects_;
  Scopes scopes_;
  NodeMap<const Var*> name_;
  NodeMap<Expr> now_;
  size_t count_ = 0;
};

}  // namespace

Expr insert_lets(const Module& m, Expr root, const std::function<bool(Expr)>& which) {
  return SharedLets(m, root).run(root, which);
}

namespace {

// The module with lets for what is shared and may not be moved.
Module bound(const Module& m, analysis::TrapOrder traps) {
  return with_each_function(m, [&](const Fn* fn) {
    analysis::Effects effects(m, fn, traps);
    return insert_lets(m, fn, [&](Expr e) { return !effects.steady(e); });
  });
}

}  // namespace

Module with_inserted_lets(const Module& m, const MovingPass& pass) {
  Module out = pass(m, analysis::TrapOrder::kFree);
  if (out.same(m)) return m;
  const Module with_lets = bound(m, analysis::TrapOrder::kFree);
  if (!with_lets.same(m)) out = pass(with_lets, analysis::TrapOrder::kFree);
  return keeps_trap_order(m, out) ? out
                                  : pass(bound(m, analysis::TrapOrder::kKept), analysis::TrapOrder::kKept);
}

}  // namespace relay::passes
