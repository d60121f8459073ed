#include "pattern/rewrite.h"

#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/rewrite.h"

namespace relay::pattern {
namespace {

// The region, and inputs whose attributes the pattern has looked at: their replacements
// could have others.
std::vector<Expr> looked_at(const Match& m) {
  std::vector<Expr> out = m.region();
  for (const Match::Binding& b : m.bindings()) {
    if (b.part->kind == Kind::kAttr && std::find(out.begin(), out.end(), b.e) == out.end())
      out.push_back(b.e);
  }
  return out;
}

class Round {
 public:
  Round(Context& context, std::span<const Rule> rules, std::span<const Expr> roots,
        const RewriteOptions& options)
      : context_(context), rules_(rules), builder_(context), graph_(roots) {
    for (const Rule& rule : rules) matchers_.emplace_back(rule.pattern, graph_, options.match);
  }

  void run() {
    std::vector<Expr> children;
    for (Expr e : graph_.order()) {
      children.clear();
      for_each_child(e, [&](Expr child) { children.push_back(now_[child]); });
      now_[e] = with_children(context_, e, children);
      apply(e);
    }
  }

  Expr now(Expr e) { return now_[e]; }
  const Rule* applied() const { return applied_; }  // the last rule that changed something; null if none did

 private:
  // What a region has taken. Leaves may be in several regions, but not replaced in one and
  // looked at in another.
  enum class Claim : uint8_t { kNone, kSharedLeaf, kTaken };

  bool free(Expr root, const std::vector<Expr>& region) const {
    return std::all_of(region.begin(), region.end(), [&](Expr e) {
      const Claim claim = claims_.get(e);
      return claim == Claim::kNone || (claim == Claim::kSharedLeaf && e != root);
    });
  }

  void claim(Expr root, const std::vector<Expr>& region) {
    for (Expr e : region) claims_[e] = e != root && is_leaf(e) ? Claim::kSharedLeaf : Claim::kTaken;
  }

  void apply(Expr e) {
    for (size_t i = 0; i < rules_.size(); ++i) {
      const std::optional<Match> found = matchers_[i].match(e);
      if (!found) continue;
      const std::vector<Expr> region = looked_at(*found);
      if (!free(e, region)) continue;
      // Binders are not visited, and stay what they are.
      const Match current = found->mapped([&](Expr old) { return now_.get(old) ? now_.get(old) : old; });
      builder_.set_span(e->span);
      const Expr replacement = rules_[i].replace(builder_, current);
      if (!replacement || replacement == now_[e]) continue;
      now_[e] = replacement;
      claim(e, region);
      applied_ = &rules_[i];
      return;
    }
  }

  Context& context_;
  std::span<const Rule> rules_;
  Builder builder_;
  const Graph graph_;
  std::vector<Matcher> matchers_;
  NodeMap<Expr> now_;
  NodeMap<Claim> claims_;
  const Rule* applied_ = nullptr;
};

// Replaces each root by what the rules make of it.
void run_rounds(Context& context, std::span<const Rule> rules, std::vector<Expr>& roots,
                const RewriteOptions& options) {
  for (size_t rounds = 0;; ++rounds) {
    Round round(context, rules, roots, options);
    round.run();
    if (!round.applied()) return;
    if (!options.once && rounds >= options.most_rounds) {
      throw Exhausted(cat("rewriting did not end after ", options.most_rounds, " rounds: rule `",
                          round.applied()->name, "` still applies (most_rounds)"));
    }
    for (Expr& root : roots) root = round.now(root);
    if (options.once) return;
  }
}

}  // namespace

Expr rewrite(Context& context, std::span<const Rule> rules, Expr root, const RewriteOptions& options) {
  std::vector<Expr> roots{root};
  run_rounds(context, rules, roots, options);
  return roots.front();
}

Module rewrite(const Module& m, std::span<const Rule> rules, const RewriteOptions& options) {
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  run_rounds(m.context(), rules, roots, options);
  Module out = m;
  size_t i = 0;
  for (const auto& [name, fn] : m.functions()) {
    const auto* now = roots[i++]->as<Fn>();
    CHECK(now != nullptr, "a rule must replace a function of the module by a function");
    if (now != fn) out.set_function(name.text(), now);
  }
  return out;
}

}  // namespace relay::pattern
