#include "passes/rules/engine.h"

#include <algorithm>
#include <unordered_map>

#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/registry.h"

namespace relay::passes::rules {
namespace {

// A rule, and what its left side asks of the arguments of its root, wherever they stand. Most rules
// do not match where their root does, and this is seen sooner than by matching.
struct Indexed {
  explicit Indexed(const Rule& of) : rule(&of) {
    const pattern::Node& root = *of.left.pattern();
    if (root.kind != pattern::Kind::kCall || root.any) return;
    for (size_t i = 1; i < root.children.size(); ++i) {
      const pattern::Node* part = root.children[i].get();
      while (is_wrapper(part->kind)) part = part->children[0].get();
      if (part->kind == pattern::Kind::kConstant) has_constant = true;
      if (part->kind != pattern::Kind::kCall) continue;
      const pattern::Node& callee = *part->children[0];
      if (callee.kind == pattern::Kind::kExpr && callee.op) calls.push_back(callee.op);
    }
  }

  bool may_match(Expr e) const {
    const auto* call = e->as<Call>();
    if (!call) return true;
    const auto has = [&](auto&& is_it) { return std::any_of(call->args.begin(), call->args.end(), is_it); };
    if (has_constant && !has([](Expr arg) { return arg->kind == ExprKind::kConstant; })) return false;
    return std::all_of(calls.begin(), calls.end(), [&](const op::OpDef* wanted) {
      return has([&](Expr arg) { return op::callee(arg) == wanted; });
    });
  }

  const Rule* rule;
  std::vector<const op::OpDef*> calls;  // of these operators
  bool has_constant = false;

 private:
  static bool is_wrapper(pattern::Kind kind) {
    return kind == pattern::Kind::kOnce || kind == pattern::Kind::kType || kind == pattern::Kind::kDataType ||
           kind == pattern::Kind::kShape || kind == pattern::Kind::kAttr;
  }
};

// The rules by the operator at their root; null for fields of tuples.
class Index {
 public:
  Index(std::span<const Rule> rules, const Options& options) {
    for (const Rule& rule : rules) {
      if (rule.kind != Class::kBounded || options.bounded) by_root_[rule.root].emplace_back(rule);
    }
  }
  std::span<const Indexed> of(Expr e) const {
    const op::OpDef* root = nullptr;
    if (e->kind != ExprKind::kProj && !(root = op::callee(e))) return {};
    const auto found = by_root_.find(root);
    return found == by_root_.end() ? std::span<const Indexed>() : found->second;
  }

 private:
  std::unordered_map<const op::OpDef*, std::vector<Indexed>> by_root_;
};

// One way over the expressions of a module.
class Round {
 public:
  Round(const Module& m, const Index& index, const Options& options, size_t& budget, Report& report)
      : context_(m.context()), index_(index), application_(m, options), budget_(budget), report_(report) {
    std::vector<Expr> roots;
    for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
    for (Expr e : post_order(roots)) for_each_child(e, [&](Expr child) { ++uses_[child]; });
    for (Expr root : roots) ++uses_[root];
  }

  // What `root` becomes. An expression stays on the stack until all that it becomes is known: its
  // children first, then what a rule made of it.
  Expr run(Expr root) {
    std::vector<Expr> stack{root};
    while (!stack.empty()) {
      const Expr e = stack.back();
      if (now_.get(e)) {
        stack.pop_back();
        continue;
      }
      if (const Expr made = made_.get(e)) {
        now_[e] = now_.get(made);
        continue;
      }
      const size_t before = stack.size();
      for_each_child(e, [&](Expr child) {
        if (!now_.get(child)) stack.push_back(child);
      });
      if (stack.size() > before) continue;
      children_.clear();
      for_each_child(e, [&](Expr child) { children_.push_back(now_.get(child)); });
      const Expr rebuilt = with_children(context_, e, children_);
      if (rebuilt != e) uses_[rebuilt] += uses_.get(e);
      const Expr made = apply(rebuilt);
      if (!made) {
        now_[e] = now_[rebuilt] = rebuilt;
        continue;
      }
      made_[e] = made;
      count_uses(made, uses_.get(e));
      stack.push_back(made);
    }
    return now_.get(root);
  }

 private:
  Expr apply(Expr e) {
    for (const Indexed& indexed : index_.of(e)) {
      if (!indexed.may_match(e)) continue;
      const Rule* rule = indexed.rule;
      const Expr made = application_.apply(*rule, e, [&](Expr part) { return uses_.get(part) <= 1; });
      if (!made) continue;
      if (budget_ == 0) {
        report_.out_of_budget = true;
        return nullptr;
      }
      --budget_;
      ++report_.applied[rule->name];
      return made;
    }
    return nullptr;
  }

  // Of what a rule has made. What it took apart is counted still, which only keeps rules that ask
  // for a single use from being applied in this round.
  void count_uses(Expr made, uint32_t uses) {
    std::vector<Expr> pending;
    if (uses_.get(made) == 0) pending.push_back(made);
    uses_[made] += uses;
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      for_each_child(e, [&](Expr child) {
        if (uses_[child]++ == 0 && !is_leaf(child)) pending.push_back(child);
      });
    }
  }

  Context& context_;
  const Index& index_;
  Application application_;
  size_t& budget_;
  Report& report_;
  NodeMap<uint32_t> uses_;
  NodeMap<Expr> now_;   // what an expression is in the end
  NodeMap<Expr> made_;  // what a rule made of it, which has to be rewritten itself
  std::vector<Expr> children_;
};

}  // namespace

Module simplify(const Module& m, std::span<const Rule> rules, const Options& options, Report& report) {
  const Index index(rules, options);
  size_t budget = options.budget;
  Module out = m;
  // The second round counts uses anew, so that rules that ask for a single use see what is left.
  for (bool changed = true; changed && !report.out_of_budget;) {
    changed = false;
    const Module before = out;
    Round round(before, index, options, budget, report);
    for (const auto& [name, fn] : before.functions()) {
      const Expr now = round.run(fn);
      if (now == fn) continue;
      out.set_function(name.text(), now->as<Fn>());
      changed = true;
    }
  }
  return out;
}

}  // namespace relay::passes::rules
