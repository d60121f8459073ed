// to-a-normal-form: each intermediate result gets a name by a let, so that a scope is a sequence.
//
// Before, the module is any. After it `breaks_a_normal_form` (normal_forms.h) finds nothing. The
// lets stand in the order in which the interpreter evaluates, so effects and traps stay in their
// order. The last evaluation of a scope gets no name: a call there stays a tail call. Linear.
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "passes/each_function.h"
#include "passes/normal_forms.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

class Normaliser {
 public:
  Normaliser(Context& context, Expr root) : b_(context), scopes_(scopes(root)) {}

  Expr run(Expr root) {
    pending_.push_back({Work::kEvaluate, root});
    while (!pending_.empty()) {
      const Work now = pending_.back();
      pending_.pop_back();
      switch (now.what) {
        case Work::kOpen: blocks_.emplace_back(); break;
        case Work::kScope: enter(now.scope); break;
        case Work::kClose: close(now.scope); break;
        case Work::kEvaluate: evaluate(now.e, now.named); break;
        case Work::kBind: bind(*now.e->as<Let>()); break;
        case Work::kForm: form(now.e, now.named); break;
      }
    }
    return now_.get(root);
  }

 private:
  struct Work {
    enum What : uint8_t { kOpen, kScope, kClose, kEvaluate, kBind, kForm } what;
    Expr e = nullptr;
    uint32_t scope = 0;
    bool named = false;  // the result is an operand, and so needs a name
  };
  using Block = std::vector<std::pair<const Var*, Expr>>;

  bool is_shared(Expr e) const { return scopes_.uses.get(e) > 1; }

  // What is shared in the scope is evaluated first, then its body.
  void enter(uint32_t index) {
    const Scopes::Scope& scope = scopes_.all[index];
    if (!is_shared(scope.body)) pending_.push_back({Work::kEvaluate, scope.body});
    for (size_t i = scope.shared.size(); i-- > 0;)
      pending_.push_back({Work::kEvaluate, scope.shared[i], 0, true});
  }

  // The scope becomes the lets of its block around its body.
  void close(uint32_t index) {
    Expr body = result_of(scopes_.all[index].body);
    const Block block = std::move(blocks_.back());
    blocks_.pop_back();
    for (size_t i = block.size(); i-- > 0;) {
      const SpanScope at(b_, block[i].second->span);
      body = b_.let(block[i].first, block[i].second, body);
    }
    if (closed_.size() <= index) closed_.resize(scopes_.all.size());
    closed_[index] = body;
  }

  Expr result_of(Expr e) const {
    const Expr now = now_.get(e);
    return now ? now : e;
  }

  void evaluate(Expr e, bool named) {
    if (is_leaf(e)) return;
    if (is_primitive(e) && is_alone(*e->as<Fn>())) return;
    pending_.push_back({Work::kForm, e, 0, named});
    std::vector<Work> parts;
    uint32_t scope = scopes_.opens.get(e);
    size_t position = 0;
    for_each_child(e, [&](Expr child) {
      if (!opens_scope(e, position++)) {
        if (!is_shared(child)) parts.push_back({Work::kEvaluate, child, 0, e->kind != ExprKind::kLet});
        if (e->kind == ExprKind::kLet) parts.push_back({Work::kBind, e});
      } else if (e->kind == ExprKind::kLet) {
        parts.push_back({Work::kScope, nullptr, scope++});  // in the same block
      } else {
        parts.push_back({Work::kOpen});
        parts.push_back({Work::kScope, nullptr, scope});
        parts.push_back({Work::kClose, nullptr, scope++});
      }
    });
    pending_.insert(pending_.end(), parts.rbegin(), parts.rend());
  }

  // Does the function use nothing that is shared with its surroundings?
  bool is_alone(const Fn& fn) const {
    const uint32_t inside = scopes_.opens.get(&fn);
    for (Expr e : post_order(fn.body)) {
      if (!is_leaf(e) && scopes_.scope_of.get(e) < inside) return false;
    }
    return true;
  }

  void bind(const Let& n) {
    const Expr value = result_of(n.value);
    // A let of a function literal may make it generic, so there must be none where there was none.
    if (value->kind == ExprKind::kFn && n.value->kind != ExprKind::kFn) {
      now_[n.x] = value;
    } else {
      blocks_.back().emplace_back(n.x, value);
    }
  }

  void form(Expr e, bool named) {
    Expr now = nullptr;
    if (const auto* let = e->as<Let>()) {
      now = result_of(let->body);
    } else {
      std::vector<Expr> children;
      uint32_t scope = scopes_.opens.get(e);
      for_each_child(e, [&](Expr child) {
        children.push_back(opens_scope(e, children.size()) ? closed_[scope++] : result_of(child));
      });
      now = with_children(b_.context(), e, children);
    }
    if (named && !is_value(now)) {
      const SpanScope at(b_, e->span);
      const Var* name = b_.with_type(b_.var(cat("v", count_++)), e->type)->as<Var>();
      blocks_.back().emplace_back(name, now);
      now = name;
    }
    now_[e] = now;
  }

  Builder b_;
  Scopes scopes_;
  std::vector<Work> pending_;
  std::vector<Block> blocks_;  // the scopes that are open, the innermost last
  std::vector<Expr> closed_;   // what scopes have become
  NodeMap<Expr> now_;
  size_t count_ = 0;
};

Module run(const Module& m, const PassContext&) {
  if (breaks_a_normal_form(m).empty()) return m;
  return with_each_function(
      m, [&](const Fn* fn) -> Expr { return is_primitive(fn) ? fn : Normaliser(m.context(), fn).run(fn); });
}

}  // namespace

const Pass kToANormalForm = {
    .name = "to-a-normal-form",
    .doc = "give each intermediate result a name by a let, in the order of evaluation",
    .run = run,
};

}  // namespace relay::passes
