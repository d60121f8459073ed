#include "ir/evaluation_order.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/traverse.h"

namespace relay {
namespace {

// Goes the way of the interpreter: on entering a scope what is shared in it, then its body.
class Walk {
 public:
  explicit Walk(Expr root) : scopes_(scopes(root)) {}

  std::vector<Expr> run() {
    pending_.push_back({Work::kScope, nullptr, 0});
    while (!pending_.empty()) {
      const Work now = pending_.back();
      pending_.pop_back();
      switch (now.what) {
        case Work::kScope: enter(scopes_.all[now.scope]); break;
        case Work::kEvaluate: evaluate(now.e); break;
        case Work::kFinish: order_.push_back(now.e); break;
      }
    }
    return std::move(order_);
  }

 private:
  struct Work {
    enum What : uint8_t { kScope, kEvaluate, kFinish } what;
    Expr e;
    uint32_t scope;
  };

  // Is it evaluated where a scope begins, and not at its uses?
  bool is_shared(Expr e) const { return !is_leaf(e) && scopes_.uses.get(e) > 1; }

  void enter(const Scopes::Scope& scope) {
    if (!is_shared(scope.body)) pending_.push_back({Work::kEvaluate, scope.body, 0});
    for (size_t i = scope.shared.size(); i-- > 0;) pending_.push_back({Work::kEvaluate, scope.shared[i], 0});
  }

  void evaluate(Expr e) {
    if (is_leaf(e)) {
      if (!std::exchange(seen_[e], true)) order_.push_back(e);
      return;
    }
    pending_.push_back({Work::kFinish, e, 0});
    const size_t start = pending_.size();
    uint32_t scope = scopes_.opens.get(e);
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      if (opens_scope(e, position++)) {
        pending_.push_back({Work::kScope, nullptr, scope++});
      } else if (!is_shared(child)) {
        pending_.push_back({Work::kEvaluate, child, 0});
      }
    });
    const auto first = pending_.begin() + static_cast<ptrdiff_t>(start);
    // A function that is called where it stands runs after its arguments were evaluated.
    const auto* call = e->as<Call>();
    if (call && call->callee->kind == ExprKind::kFn && !is_shared(call->callee))
      std::rotate(first, first + 1, pending_.end());
    std::reverse(first, pending_.end());
  }

  Scopes scopes_;
  NodeMap<bool> seen_;  // of leaves
  std::vector<Work> pending_;
  std::vector<Expr> order_;
};

}  // namespace

std::vector<Expr> evaluation_order(Expr root) { return Walk(root).run(); }

}  // namespace relay
