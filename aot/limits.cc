#include "aot/limits.h"

#include <algorithm>
#include <set>

#include "aot/decisions.h"
#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/traverse.h"

namespace relay::aot {
namespace {

// Of a function itself, and of the longest statement in its innermost block.
constexpr uint32_t kBracketsOfFunction = 12;

std::span<const Type> parts_of(Type t) {
  if (const auto* tuple = t->as<TupleType>()) return tuple->fields;
  if (const auto* data = t->as<DataType>()) return data->args;
  return {};
}

uint32_t depth_of(Pattern root) {
  uint32_t most = 0;
  std::vector<std::pair<Pattern, uint32_t>> pending{{root, 1}};
  while (!pending.empty()) {
    const auto [p, depth] = pending.back();
    pending.pop_back();
    most = std::max(most, depth);
    for (Pattern field : p->fields) pending.emplace_back(field, depth + 1);
  }
  return most;
}

// Blocks inside each other, as functions.cc opens them. Decisions are as deep as patterns may
// be, and no deeper.
uint32_t blocks_of(const Decision& d) {
  uint32_t inside = 0;
  for (const auto& [tag, next] : d.cases) inside = std::max(inside, blocks_of(next));
  if (d.otherwise) inside = std::max(inside, blocks_of(*d.otherwise));
  const size_t ways = d.cases.size() + (d.otherwise ? 1 : 0);
  return inside + (ways == 0 ? 0 : ways <= 2 ? 1 : 2);
}

class LimitCheck {
 public:
  LimitCheck(const Module& m, Diagnostics& diagnostics) : module_(m), diagnostics_(diagnostics) {}

  bool run(const Fn& main) {
    if (!check_type(main.body->type, main.body->span, "the function's result")) return false;
    std::set<const Fn*> seen{&main};
    std::vector<const Fn*> pending{&main};
    while (!pending.empty()) {
      const Fn* fn = pending.back();
      pending.pop_back();
      if (!function(*fn)) return false;
      for (Symbol name : mentioned_globals(fn)) {
        const Fn* other = module_.function(name.text());
        if (other && seen.insert(other).second) pending.push_back(other);
      }
    }
    return true;
  }

 private:
  // Where an expression is printed: inside how many brackets, and whether its value is
  // that of a block.
  struct Place {
    uint32_t brackets = 0;
    bool is_result = false;
    uint32_t function = 0;  // of C++, in values_
  };

  bool function(const Fn& fn) {
    scopes_ = scopes(fn.body);
    begins_.assign(scopes_.all.size(), {kBracketsOfFunction, false, 0});
    values_ = {0};
    places_ = {};
    if (!parameters(fn)) return false;
    put(fn.body, {kBracketsOfFunction, true, 0});
    const std::vector<Expr> order = post_order(fn.body);
    // Users come before what they use.
    return std::all_of(order.rbegin(), order.rend(), [&](Expr e) { return expression(e); });
  }

  bool parameters(const Fn& fn) {
    return std::all_of(fn.params.begin(), fn.params.end(), [&](const Var* p) {
      return check_type(p->type, p->span.known() ? p->span : fn.span,
                        cat("parameter `", p->name.text(), "` of a function"));
    });
  }

  // A shared node is evaluated where its scope begins, whoever uses it.
  Place place(Expr e) const {
    return scopes_.uses.get(e) > 1 ? begins_[scopes_.scope_of.get(e)] : places_.get(e);
  }
  void put(Expr e, Place where) { places_[e] = where; }
  void put_scope(uint32_t scope, Expr body, Place where) {
    begins_[scope] = {where.brackets, false, where.function};
    put(body, where);
  }

  bool expression(Expr e) {
    if (is_leaf(e)) return true;
    const Place at = place(e);
    // A control form that is an operand has a block of its own, in which its variable is set.
    const Place inner{at.brackets + (at.is_result ? 0 : 1), false, at.function};
    const uint32_t opens = scopes_.opens.get(e);
    switch (e->kind) {
      case ExprKind::kLet:
        put(e->as<Let>()->value, {at.brackets, false, at.function});
        put_scope(opens, e->as<Let>()->body, at);
        return true;
      case ExprKind::kFn:
        put_scope(opens, e->as<Fn>()->body,
                  {kBracketsOfFunction, true, static_cast<uint32_t>(values_.size())});
        values_.push_back(0);
        return parameters(*e->as<Fn>()) && count(at, e);
      case ExprKind::kIf: {
        const auto* n = e->as<If>();
        const Place branch{inner.brackets + 1, true, at.function};
        put(n->cond, inner);
        put_scope(opens, n->then_branch, branch);
        put_scope(opens + 1, n->else_branch, branch);
        return check_brackets(branch.brackets, "`if`", e->span) && count(at, e);
      }
      case ExprKind::kMatch: return arms(*e->as<Match>(), inner, opens) && count(at, e);
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
      case ExprKind::kRefWrite:
        for_each_child(e, [&](Expr child) { put(child, {at.brackets, false, at.function}); });
        return count(at, e);
    }
    return false;
  }

  bool arms(const Match& n, Place inner, uint32_t opens) {
    uint32_t depth = 0;
    for (const Arm& arm : n.arms) depth = std::max(depth, depth_of(arm.pattern));
    if (depth > kMostPatternDepth) {
      return refuse(n.span, "nesting-too-deep",
                    cat("a pattern is nested ", depth, " deep, more than the limit of ", kMostPatternDepth),
                    "match the outer part, and what it binds by another `match` in a function of its own");
    }
    const std::optional<Decision> tree = decide(n, module_);
    // What a pattern binds is a path, with a bracket for each step.
    const Place arm{inner.brackets + std::max(tree ? blocks_of(*tree) : 0, 2u) + depth - 1, true,
                    inner.function};
    put(n.value, inner);
    for (size_t i = 0; i < n.arms.size(); ++i)
      put_scope(opens + static_cast<uint32_t>(i), n.arms[i].body, arm);
    return check_brackets(arm.brackets, "`match`", n.span);
  }

  bool check_brackets(uint32_t brackets, std::string_view form, Span span) {
    if (brackets <= kMostBrackets) return true;
    return refuse(span, "nesting-too-deep",
                  cat("this ", form, " would stand inside ", brackets,
                      " brackets of C++, more than the limit of ", kMostBrackets),
                  "put inner parts into functions of their own, and compile with `-O0`, which inlines none");
  }

  bool count(Place at, Expr e) {
    if (++values_[at.function] <= kMostValues) return true;
    return refuse(e->span, "function-too-large",
                  cat("the function around this computes more than ", kMostValues, " values"),
                  "put parts of it into functions of their own, and compile with `-O0`, which inlines none");
  }

  bool check_type(Type t, Span span, std::string_view what) {
    if (!t) return true;
    const TypeSize size = types_.of(t);
    if (size.parts > kMostTypeParts) {
      return refuse(span, "value-too-large",
                    cat(what, " has more than ", kMostTypeParts, " parts, counting what is shared each time"),
                    "take or give fewer of them");
    }
    if (size.depth > kMostTypeDepth) {
      return refuse(span, "nesting-too-deep",
                    cat("the type of ", what, " is nested ", size.depth, " deep, more than the limit of ",
                        kMostTypeDepth),
                    "a recursive data type holds values of any depth");
    }
    return true;
  }

  bool refuse(Span span, Slug slug, std::string why, std::string_view remedy) {
    diagnostics_.error(span, slug, cat("no code ahead of time: ", why))
        .note(std::string(remedy))
        .note("the engines `interp` and `jit` run any program");
    return false;
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  TypeSizes types_;
  Scopes scopes_;
  std::vector<Place> begins_;     // of scopes
  std::vector<uint32_t> values_;  // of each function of C++, how many it computes
  NodeMap<Place> places_;
};

}  // namespace

TypeSize TypeSizes::of(Type root) {
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = pending.back();
    if (known_.contains(t)) {
      pending.pop_back();
      continue;
    }
    TypeSize size;
    bool complete = true;
    for (Type part : parts_of(t)) {
      const auto it = known_.find(part);
      if (it == known_.end()) {
        pending.push_back(part);
        complete = false;
      } else if (complete) {
        if (__builtin_add_overflow(size.parts, it->second.parts, &size.parts)) size.parts = UINT64_MAX;
        size.depth = std::max(size.depth, it->second.depth + 1);
      }
    }
    if (!complete) continue;
    known_.emplace(t, size);
    pending.pop_back();
  }
  return known_.at(root);
}

bool within_limits(const Module& m, const Fn& function, Diagnostics& diagnostics) {
  return LimitCheck(m, diagnostics).run(function);
}

}  // namespace relay::aot
