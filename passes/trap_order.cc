#include "passes/trap_order.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analysis/effects.h"
#include "analysis/user_kernels.h"
#include "ir/analysis.h"
#include "op/registry.h"

namespace relay::passes {
namespace {

using Names = std::vector<std::string_view>;

// Walks a function as the interpreter does: on entering a scope what is shared in it, then its
// body. Iterative.
class Walk {
 public:
  Walk(analysis::UserKernels& kernels, Expr root, Names& out)
      : kernels_(kernels), scopes_(scopes(root)), out_(out) {
    pending_.push_back({Work::kEvaluate, root, 0});
    while (!pending_.empty()) {
      const Work now = pending_.back();
      pending_.pop_back();
      switch (now.what) {
        case Work::kScope: enter(now.scope); break;
        case Work::kEvaluate: evaluate(now.e); break;
        case Work::kTrap: trap(now.e); break;
      }
    }
  }

 private:
  struct Work {
    enum What : uint8_t { kScope, kEvaluate, kTrap } what;
    Expr e;
    uint32_t scope;
  };

  bool is_shared(Expr e) const { return scopes_.uses.get(e) > 1; }

  void enter(uint32_t index) {
    const Scopes::Scope& scope = scopes_.all[index];
    if (!is_shared(scope.body)) pending_.push_back({Work::kEvaluate, scope.body, 0});
    for (size_t i = scope.shared.size(); i-- > 0;) pending_.push_back({Work::kEvaluate, scope.shared[i], 0});
  }

  void evaluate(Expr e) {
    std::vector<Work> parts;
    uint32_t scope = scopes_.opens.get(e);
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      if (opens_scope(e, position++)) {
        parts.push_back({Work::kScope, nullptr, scope++});
      } else if (!is_shared(child)) {
        parts.push_back({Work::kEvaluate, child, 0});
      }
    });
    // A function that is called where it stands runs after its arguments were evaluated.
    const auto* call = e->as<Call>();
    if (call && call->callee->kind == ExprKind::kFn && !is_shared(call->callee))
      std::rotate(parts.begin(), parts.begin() + 1, parts.end());
    parts.push_back({Work::kTrap, e, 0});
    pending_.insert(pending_.end(), parts.rbegin(), parts.rend());
  }

  void trap(Expr e) {
    switch (e->kind) {
      case ExprKind::kMatch:
        if (!e->as<Match>()->total) out_.push_back("match");
        break;
      case ExprKind::kCall: call(*e->as<Call>()); break;
      case ExprKind::kConstant:
      case ExprKind::kVar:
      case ExprKind::kGlobal:
      case ExprKind::kOpRef:
      case ExprKind::kCtorRef:
      case ExprKind::kTuple:
      case ExprKind::kProj:
      case ExprKind::kFn:
      case ExprKind::kLet:
      case ExprKind::kIf:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: break;  // never traps itself
    }
  }

  void call(const Call& n) {
    if (n.callee->kind == ExprKind::kFn || n.callee->kind == ExprKind::kCtorRef) return;
    if (const op::OpDef* def = op::callee(n)) {
      if (analysis::may_trap_on_values(n, *def)) out_.push_back(def->name);
    } else if (const kernel::Kernel* k = kernels_.callee(&n)) {
      if (k->external || kernels_.may_trap(n, *k)) out_.push_back("kernel");
    } else {
      out_.push_back("call");
    }
  }

  analysis::UserKernels& kernels_;
  Scopes scopes_;
  Names& out_;
  std::vector<Work> pending_;
};

Names traps_in_order(const Module& m) {
  Names out;
  analysis::UserKernels kernels(m);
  for (const auto& [name, fn] : m.functions()) Walk(kernels, fn, out);
  return out;
}

}  // namespace

bool keeps_trap_order(const Module& before, const Module& after) {
  const Names now = traps_in_order(after);
  if (std::all_of(now.begin(), now.end(), [&](std::string_view name) { return name == now.front(); }))
    return true;
  const Names then = traps_in_order(before);
  size_t next = 0;
  for (std::string_view name : then) {
    if (next < now.size() && name == now[next]) ++next;
  }
  return next == now.size();
}

}  // namespace relay::passes
