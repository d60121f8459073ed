#include "pattern/partition.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "op/registry.h"

namespace relay::pattern {
namespace {

constexpr uint32_t kNone = 0;

// Does evaluating e itself, its children aside, do more than give a value?
bool has_effect(Expr e) {
  switch (e->kind) {
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return true;
    case ExprKind::kCall: {
      if (const op::OpDef* def = op::callee(e)) return def->effects == op::Effects::kEffect;
      return e->as<Call>()->callee->kind != ExprKind::kCtorRef;  // what a function does is not known
    }
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
    case ExprKind::kMatch: return false;
  }
  return false;
}

// Where the scopes of a program lie in each other: a scope and all within it are a
// range of numbers.
class Nesting {
 public:
  explicit Nesting(const Scopes& s) : first_(s.all.size(), 0), size_(s.all.size(), 1) {
    for (size_t i = s.all.size(); i-- > 1;) size_[s.all[i].parent] += size_[i];
    std::vector<uint32_t> next(s.all.size(), 1);
    for (size_t i = 1; i < s.all.size(); ++i) {
      const uint32_t parent = s.all[i].parent;
      first_[i] = next[parent];
      next[parent] += size_[i];
      next[i] = first_[i] + 1;
    }
  }
  bool inside(uint32_t inner, uint32_t outer) const {
    return first_[inner] >= first_[outer] && first_[inner] < first_[outer] + size_[outer];
  }

 private:
  std::vector<uint32_t> first_, size_;
};

struct Region {
  std::vector<Expr> inside;         // in evaluation order; the root is the last
  std::vector<Expr> inputs;         // in the order of the parameters
  std::vector<AttrArg> attrs = {};  // of its function alone
};

class Partitioner {
 public:
  // `keep_root`: the root is a function of a module and stays one.
  Partitioner(Context& context, const Pattern& pattern, const PartitionOptions& options, Expr root,
              bool keep_root)
      : context_(context),
        options_(options),
        graph_(root),
        matcher_(pattern, graph_, options.match),
        scopes_(scopes(root)),
        nesting_(scopes_),
        keep_root_(keep_root ? root : nullptr) {}

  Expr run(Expr root) {
    look_around();
    for (size_t i = graph_.order().size(); i-- > 0;) consider(graph_.order()[i]);
    if (regions_.empty()) return root;
    return rebuild();
  }

 private:
  // ---- What the program is like ----

  void look_around() {
    for (Expr e : graph_.order()) {
      bool below = has_effect(e);
      for_each_child(e, [&](Expr child) { below |= effect_below_.get(child); });
      effect_below_[e] = below;
      if (const auto* let = e->as<Let>()) {
        if (let->value->kind == ExprKind::kFn) let_bound_[let->value] = true;
      }
    }
    // Parents come first.
    for (size_t i = graph_.order().size(); i-- > 0;) {
      const Expr e = graph_.order()[i];
      const auto* fn = e->as<Fn>();
      const bool seal = sealed_.get(e) || (fn && fn->attrs.find(kPartitionedFromPattern));
      if (seal) for_each_child(e, [&](Expr child) { sealed_[child] = true; });
    }
  }

  // ---- Choosing regions ----

  void consider(Expr e) {
    if (sealed_.get(e) || e == keep_root_ || let_bound_.get(e)) return;  // P5
    if (e->kind == ExprKind::kVar || is_name(e) || region_of_[e] != kNone) return;
    const std::optional<Match> found = matcher_.match(e);
    if (!found) return;
    std::optional<Region> region = closed(*found);
    if (!region || (options_.check && !options_.check(*found))) return;
    if (options_.own_attrs) region->attrs = options_.own_attrs(*found);
    regions_.push_back(std::move(*region));
    for (Expr inside : regions_.back().inside) {
      if (!is_leaf(inside) || inside == e) region_of_[inside] = static_cast<uint32_t>(regions_.size());
    }
  }

  // The region of a match with its inputs; nothing if it cannot become a function.
  std::optional<Region> closed(const Match& m) {
    Region out;
    out.inside = m.region();
    const Expr root = m.root();
    std::sort(out.inside.begin(), out.inside.end(),
              [&](Expr a, Expr b) { return graph_.position(a) < graph_.position(b); });
    ++mark_;
    for (Expr e : out.inside) inside_[e] = mark_;

    NodeMap<uint32_t> used;
    bool effects = false;
    for (Expr e : out.inside) {
      if (graph_.uses(e) == 0 || (!is_leaf(e) && sealed_.get(e))) return std::nullopt;
      if (region_of_.get(e) != kNone) return std::nullopt;  // P4
      for_each_binder(e, [&](const Var* v) { bound_[v] = mark_; });
      for_each_child(e, [&](Expr child) { ++used[child]; });
      effects |= has_effect(e);
    }
    // What is shared is evaluated when its scope is entered. If all its uses are in the region, it
    // would be evaluated when the function is called.
    const auto delayed = [&](Expr e) {
      return effect_below_.get(e) && used[e] > 1 && used[e] == graph_.uses(e);
    };
    for (Expr e : out.inside) {
      if (e == root || is_leaf(e)) continue;
      if (used[e] != graph_.uses(e)) return std::nullopt;  // P1
      if (delayed(e)) return std::nullopt;                 // P3
    }
    const uint32_t here = scopes_.scope_of.get(root);
    for (Expr e : inputs_of(root)) {
      if (e->kind == ExprKind::kVar && bound_.get(e) == mark_) continue;
      if (!is_leaf(e) && !nesting_.inside(here, scopes_.scope_of.get(e))) return std::nullopt;  // P2
      if ((effects && effect_below_.get(e)) || delayed(e)) return std::nullopt;                 // P3
      out.inputs.push_back(e);
    }
    return out;
  }

  // What the region at hand uses and does not hold, in the order in which it is first wanted:
  // effects of arguments happen in the order in which they did.
  std::vector<Expr> inputs_of(Expr root) const {
    std::vector<Expr> out, pending{root}, children;
    NodeMap<bool> seen;
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (std::exchange(seen[e], true) || is_name(e)) continue;
      if (inside_.get(e) != mark_) {
        out.push_back(e);
        continue;
      }
      children.clear();
      for_each_child(e, [&](Expr child) { children.push_back(child); });
      pending.insert(pending.end(), children.rbegin(), children.rend());
    }
    return out;
  }

  // ---- Making functions ----

  Expr rebuild() {
    std::vector<Expr> children;
    for (Expr e : graph_.order()) {
      const uint32_t number = region_of_.get(e);
      if (number != kNone && regions_[number - 1].inside.back() == e) {
        now_[e] = call_of(regions_[number - 1]);
      } else if (number == kNone) {
        children.clear();
        for_each_child(e, [&](Expr child) { children.push_back(now_[child]); });
        now_[e] = with_children(context_, e, children);
      }
    }
    return now_[graph_.order().back()];
  }

  Expr call_of(const Region& region) {
    Builder b(context_);
    const Expr root = region.inside.back();
    b.set_span(root->span);
    NodeMap<Expr> local;
    std::vector<const Var*> params;
    std::vector<Expr> args, children;
    for (Expr input : region.inputs) {
      const auto* var = input->as<Var>();
      params.push_back(b.var(var ? var->name.str() : cat("x", params.size()), input->type));
      local[input] = params.back();
      args.push_back(now_[input]);
    }
    for (Expr e : region.inside) {
      children.clear();
      for_each_child(e, [&](Expr child) { children.push_back(local.get(child) ? local.get(child) : child); });
      local[e] = with_children(context_, e, children);
    }
    const Fn* fn = b.fn(params, local[root], nullptr, attributes(region));
    return b.call(fn, args, {}, root->type);
  }

  Attrs attributes(const Region& region) {
    std::string trace;
    for (Expr e : region.inside) {
      if (const op::OpDef* def = op::callee(e)) trace += cat(def->name, "_");
    }
    std::vector<AttrArg> all = options_.attrs;
    all.insert(all.end(), region.attrs.begin(), region.attrs.end());
    all.push_back({std::string(kPartitionedFromPattern), trace});
    return context_.attrs(all);
  }

  Context& context_;
  const PartitionOptions& options_;
  const Graph graph_;
  Matcher matcher_;
  const Scopes scopes_;
  const Nesting nesting_;
  const Expr keep_root_;
  NodeMap<bool> effect_below_, let_bound_, sealed_;
  std::vector<Region> regions_;
  NodeMap<uint32_t> region_of_;       // number in regions_, from 1
  NodeMap<uint32_t> inside_, bound_;  // of the region at hand, if they are mark_
  uint32_t mark_ = 0;
  NodeMap<Expr> now_;
};

}  // namespace

Expr partition(Context& context, const Pattern& pattern, Expr root, const PartitionOptions& options) {
  return Partitioner(context, pattern, options, root, false).run(root);
}

Module partition(const Module& m, const Pattern& pattern, const PartitionOptions& options) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    if (fn->attrs.find(kPartitionedFromPattern)) continue;
    const Expr now = Partitioner(m.context(), pattern, options, fn, true).run(fn);
    if (now != fn) out.set_function(name.text(), now->as<Fn>());
  }
  return out;
}

}  // namespace relay::pattern
