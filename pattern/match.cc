// The matcher: a table of what fits, and guesses about parts that occur twice.
//
// `holds(item, e)` answers whether the part fits e, given what is guessed so far about slots;
// answers that depend on no slot are kept for good. A slot that is still free does not restrict
// anything, so that a yes may be too optimistic: then `descend` goes through the parts in the way
// that holds, and the first free slot that it meets is guessed to be the expression it met it at.
// When the whole pattern no longer holds, the last guess was wrong and is excluded. So each guess
// is tried at most once under the ones before it, and when no slot is free the answers are exact.
#include "pattern/match.h"

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/failure.h"
#include "op/registry.h"
#include "pattern/constraint.h"
#include "pattern/program.h"

namespace relay::pattern {
namespace {

bool structural(Kind kind) {
  switch (kind) {
    case Kind::kExpr:
    case Kind::kConstant:
    case Kind::kCall:
    case Kind::kFunction:
    case Kind::kIf:
    case Kind::kLet:
    case Kind::kTuple:
    case Kind::kTupleGetItem: return true;
    default: return false;
  }
}

// How far the way from a dominator's child to its parent is known. Expressions are looked at in
// reverse evaluation order, so that all uses of one among the expressions on the way are known when
// it is looked at.
struct Walk {
  bool begun = false;
  std::map<uint32_t, Expr> frontier;        // evaluations that the way uses and that are not on it yet
  std::unordered_map<Expr, uint32_t> used;  // how often the way uses an expression
  std::vector<Expr> path;                   // what is on it, nearest to the child first
  bool dead_end = false;                    // something on it has no evaluation among its inputs ...
  std::map<uint32_t, Expr> common;          // ... so only variables that all of these use can be the parent
  Expr parent = nullptr;
};

void add_to_way(Walk& w, Expr e, const Graph& graph) {
  bool evaluations = false;
  std::map<uint32_t, Expr> variables;
  for_each_child(e, [&](Expr input) {
    if (is_name(input) || input->kind == ExprKind::kConstant) return;
    ++w.used[input];
    const bool variable = input->kind == ExprKind::kVar;
    (variable ? variables : w.frontier).emplace(graph.position(input), input);
    evaluations |= !variable;
  });
  if (evaluations) return;
  if (w.dead_end) {
    std::erase_if(w.common, [&](const auto& v) { return !variables.contains(v.first); });
  } else {
    w.common = std::move(variables);
  }
  w.dead_end = true;
}

uint64_t key(uint32_t a, Expr e) { return (uint64_t{a} << 32) | e->id; }

// The parts of a match. What a path matches is the same for all dominators that have it,
// and is there once.
struct Parts {
  std::vector<Match::Binding> bindings;
  std::unordered_set<uint64_t> steps;  // the paths, and the expressions that they matched
};

// Of one program; `all` has those of the others, by their numbers.
class Search {
 public:
  Search(const Program& program, const std::vector<std::unique_ptr<Search>>& all, const Graph& graph,
         const MatchOptions& options)
      : program_(program), all_(all), graph_(graph), options_(options), guessed_(program.slots, nullptr) {}

  // Adds to `out` the way in which e matches; false if it does not.
  bool match(Expr e, Parts& out) {
    const bool found = solve(e);
    if (found) descend(e, &out);
    forget_guesses();
    return found;
  }

 private:
  struct Guess {
    uint32_t slot;
    Expr e;
  };
  struct Excluded {
    Guess guess;
    size_t under;  // how many guesses it stands under
  };
  struct Answer {
    uint64_t era;
    bool holds;
  };
  // A part whose answer is being found.
  struct Frame {
    uint32_t item;
    Expr e;
    uint32_t next = 0;                     // the children before this one hold
    std::unique_ptr<Walk> walk = nullptr;  // of a dominator
  };
  using Pairs = std::vector<std::pair<uint32_t, Expr>>;

  const Item& item(uint32_t i) const { return program_.items[i]; }

  // ---- Guesses ----

  bool solve(Expr e) {
    forget_guesses();
    frames_.clear();  // what a limit has interrupted
    size_t wrong = 0;
    for (;;) {
      if (holds(program_.root(), e)) {
        const std::optional<Guess> free = descend(e, nullptr);
        if (!free) return true;
        guessed_[free->slot] = free->e;
        guesses_.push_back(*free);
      } else {
        if (guesses_.empty()) return false;
        if (++wrong > options_.most_guesses) {
          throw Exhausted(cat("matching a pattern took more than ", options_.most_guesses,
                              " wrong guesses about parts that occur twice (most_guesses)"));
        }
        const Guess last = guesses_.back();
        guesses_.pop_back();
        guessed_[last.slot] = nullptr;
        while (!excluded_.empty() && excluded_.back().under > guesses_.size()) {
          const Guess& old = excluded_.back().guess;
          is_excluded_.erase(key(old.slot, old.e));
          excluded_.pop_back();
        }
        excluded_.push_back({last, guesses_.size()});
        is_excluded_.insert(key(last.slot, last.e));
      }
      era_ = ++eras_;
    }
  }

  void forget_guesses() {
    std::fill(guessed_.begin(), guessed_.end(), nullptr);
    guesses_.clear();
    excluded_.clear();
    is_excluded_.clear();
    era_ = 0;
  }

  bool allowed(uint32_t slot, Expr e) const {
    if (const Expr known = guessed_[slot]) return same_expression(known, e);
    return !is_excluded_.contains(key(slot, e));
  }

  // ---- What holds ----

  bool holds(uint32_t i, Expr e) {
    std::optional<bool> answer = ask(i, e);
    while (!frames_.empty()) {
      Frame& top = frames_.back();
      const std::optional<bool> found = resume(top);
      if (!found) continue;  // another frame is on top now
      answers_[key(top.item, top.e)] = {item(top.item).tied ? era_ : 0, *found};
      answer = found;
      frames_.pop_back();
    }
    return *answer;
  }

  // Nothing if it is not known yet; a frame that finds it out is on top then.
  std::optional<bool> ask(uint32_t i, Expr e) {
    const Item& part = item(i);
    if (part.slot != Item::kNone && !allowed(part.slot, e)) return false;
    const Kind kind = part.node->kind;
    if (kind == Kind::kWildcard) return true;
    if (kind == Kind::kVar || kind == Kind::kConstant || part.node->op) return demand_holds(*part.node, e);
    if (const auto known = answers_.find(key(i, e)); known != answers_.end()) {
      if (!part.tied || known->second.era == era_) return known->second.holds;
    }
    frames_.push_back({i, e});
    return std::nullopt;
  }

  // Goes on with a frame after the one above it is answered.
  std::optional<bool> resume(Frame& f) {
    const Item& part = item(f.item);
    switch (part.node->kind) {
      case Kind::kType:
      case Kind::kDataType:
      case Kind::kShape:
      case Kind::kAttr:
        // What the expression says by itself comes first: it takes no search.
        return demand_holds(*part.node, f.e) ? ask(part.children[0], f.e) : false;
      case Kind::kOnce: return graph_.uses(f.e) == 1 ? ask(part.children[0], f.e) : false;
      case Kind::kAlt: {
        const std::optional<bool> first = ask(part.children[0], f.e);
        return !first || *first ? first : ask(part.children[1], f.e);
      }
      case Kind::kDominator: {
        const std::optional<bool> child = ask(part.children[1], f.e);
        if (!child || !*child) return child;
        if (!f.walk) f.walk = std::make_unique<Walk>();
        return walk(*f.walk, part, f.e, [&](uint32_t i, Expr e) { return ask(i, e); });
      }
      default: break;
    }
    if (f.next == 0 && !demand_holds(*part.node, f.e)) return false;
    if (swappable(part, f.e)) {
      const std::optional<bool> straight = all_hold(pairs(part, f.e, false));
      return !straight || *straight ? straight : all_hold(pairs(part, f.e, true));
    }
    const size_t count = part.children.size();
    for (; f.next < count; ++f.next) {
      const std::optional<bool> one = ask(part.children[f.next], part_of(f.e, f.next, count));
      if (!one || !*one) return one;
    }
    return true;
  }

  std::optional<bool> all_hold(const Pairs& pairs) {
    for (const auto& [i, e] : pairs) {
      const std::optional<bool> one = ask(i, e);
      if (!one || !*one) return one;
    }
    return true;
  }

  // C2: the operands of a commutative operator may stand in either order.
  static bool swappable(const Item& part, Expr e) {
    if (part.node->kind != Kind::kCall || part.node->any || part.children.size() != 3) return false;
    const op::OpDef* def = op::callee(e);
    return def && def->commutative;
  }

  // The expression that child number `i` of `count` describes.
  static Expr part_of(Expr e, size_t i, size_t count) {
    switch (e->kind) {
      case ExprKind::kCall: return i == 0 ? e->as<Call>()->callee : e->as<Call>()->args[i - 1];
      case ExprKind::kFn: return i + 1 == count ? e->as<Fn>()->body : e->as<Fn>()->params[i];
      case ExprKind::kTuple: return e->as<Tuple>()->fields[i];
      case ExprKind::kProj: return e->as<Proj>()->tuple;
      case ExprKind::kIf: {
        const auto* n = e->as<If>();
        return i == 0 ? n->cond : i == 1 ? n->then_branch : n->else_branch;
      }
      case ExprKind::kLet: {
        const auto* n = e->as<Let>();
        return i == 0 ? Expr(n->x) : i == 1 ? n->value : n->body;
      }
      case ExprKind::kConstant:
      case ExprKind::kVar:
      case ExprKind::kGlobal:
      case ExprKind::kOpRef:
      case ExprKind::kCtorRef:
      case ExprKind::kMatch:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: break;
    }
    CHECK(false, "this form of expression has no parts that a pattern describes");
    return nullptr;
  }

  static Pairs pairs(const Item& part, Expr e, bool swapped) {
    const size_t count = part.children.size();
    Pairs out;
    for (size_t i = 0; i < count; ++i) {
      const size_t j = swapped && i > 0 ? count - i : i;
      out.emplace_back(part.children[i], part_of(e, j, count));
    }
    return out;
  }

  // From the child of a dominator to its parent; false if there is none. `ask` may leave
  // a question open.
  template <class Ask>
  std::optional<bool> walk(Walk& w, const Item& part, Expr child, Ask&& ask) {
    const uint32_t parent = part.children[0];
    if (!w.begun) add_to_way(w, child, graph_);
    w.begun = true;
    while (!w.frontier.empty()) {
      const Expr e = w.frontier.rbegin()->second;
      if (w.used[e] != graph_.uses(e)) return false;  // D2
      if (w.frontier.size() == 1 && !w.dead_end) {    // D3: all ways meet here
        const std::optional<bool> found = ask(parent, e);
        if (!found) return std::nullopt;
        if (*found) {
          w.parent = e;
          return true;
        }
      }
      if (!all_[part.path]->matches(e)) return false;  // D1
      w.frontier.erase(graph_.position(e));
      w.path.push_back(e);
      add_to_way(w, e, graph_);
    }
    for (auto v = w.common.rbegin(); v != w.common.rend(); ++v) {
      if (w.used[v->second] != graph_.uses(v->second)) continue;  // D2
      const std::optional<bool> found = ask(parent, v->second);
      if (!found) return std::nullopt;
      if (*found) {
        w.parent = v->second;
        return true;
      }
    }
    return false;
  }

  // The question of an expression on a path, which depends on nothing else.
  bool matches(Expr e) {
    const auto known = matches_.find(e->id);
    if (known != matches_.end()) return known->second;
    const bool found = solve(e);
    forget_guesses();
    matches_.emplace(e->id, found);
    return found;
  }

  // ---- The way in which it holds ----

  // Without `out`: the first slot that is free, if there is one. With it: all parts, with
  // their expressions.
  std::optional<Guess> descend(Expr root, Parts* out) {
    std::unordered_set<uint64_t> seen;
    Pairs pending{{program_.root(), root}};
    while (!pending.empty()) {
      const auto [i, e] = pending.back();
      pending.pop_back();
      const Item& part = item(i);
      if ((!out && !part.tied) || !seen.insert(key(i, e)).second) continue;
      if (!out && part.slot != Item::kNone && !guessed_[part.slot]) return Guess{part.slot, e};
      if (out) out->bindings.push_back({part.node, e});
      const Pairs chosen = choice(part, e, out);
      pending.insert(pending.end(), chosen.rbegin(), chosen.rend());
    }
    return std::nullopt;
  }

  Pairs choice(const Item& part, Expr e, Parts* out) {
    switch (part.node->kind) {
      case Kind::kType:
      case Kind::kDataType:
      case Kind::kShape:
      case Kind::kAttr:
      case Kind::kOnce: return {{part.children[0], e}};
      case Kind::kAlt: return {{part.children[holds(part.children[0], e) ? 0 : 1], e}};
      case Kind::kDominator: {
        Walk w;
        walk(w, part, e, [&](uint32_t i, Expr at) { return std::optional<bool>(holds(i, at)); });
        for (size_t i = out ? w.path.size() : 0; i-- > 0;) {
          if (!out->steps.insert(key(part.path, w.path[i])).second) continue;
          const size_t step = out->bindings.size();
          all_[part.path]->match(w.path[i], *out);
          out->bindings[step].on_path = true;
        }
        return {{part.children[1], e}, {part.children[0], w.parent}};
      }
      default: break;
    }
    if (!swappable(part, e)) return pairs(part, e, false);
    const Pairs straight = pairs(part, e, false);
    for (const auto& [i, at] : straight) {
      if (!holds(i, at)) return pairs(part, e, true);
    }
    return straight;
  }

  const Program& program_;
  const std::vector<std::unique_ptr<Search>>& all_;
  const Graph& graph_;
  const MatchOptions options_;
  std::deque<Frame> frames_;  // references to the frames below stay valid
  std::unordered_map<uint64_t, Answer> answers_;
  std::unordered_map<uint32_t, bool> matches_;

  // Answers of parts with slots are valid in one era only: 0 when nothing is guessed or excluded.
  uint64_t era_ = 0, eras_ = 0;
  std::vector<Expr> guessed_;  // by slot; null if free
  std::vector<Guess> guesses_;
  std::vector<Excluded> excluded_;
  std::unordered_set<uint64_t> is_excluded_;
};

}  // namespace

class Matcher::Searches {
 public:
  Searches(const Pattern& pattern, const Graph& graph, const MatchOptions& options) : programs_(pattern) {
    for (const Program& program : programs_.all)
      all_.push_back(std::make_unique<Search>(program, all_, graph, options));
  }
  bool match(Expr e, Parts& out) { return all_.front()->match(e, out); }

 private:
  const Programs programs_;
  std::vector<std::unique_ptr<Search>> all_;
};

Matcher::Matcher(Pattern pattern, const Graph& graph, MatchOptions options) : pattern_(std::move(pattern)) {
  if (pattern_->nested_paths > kMostNestedPaths) {
    throw Exhausted(cat("matching a pattern: ", pattern_->nested_paths,
                        " paths of dominators lie in each other, more than ", kMostNestedPaths));
  }
  searches_ = std::make_unique<Searches>(pattern_, graph, options);
}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;

std::optional<Match> Matcher::match(Expr e) {
  Parts found;
  if (!searches_->match(e, found)) return std::nullopt;
  return Match(pattern_, std::move(found.bindings));
}

std::optional<Match> match(const Pattern& pattern, Expr e, MatchOptions options) {
  const Graph graph(e);
  return Matcher(pattern, graph, options).match(e);
}

std::vector<Expr> Match::all(std::string_view name) const {
  std::vector<Expr> out;
  for (const Binding& b : bindings_) {
    if (b.part->name == name) out.push_back(b.e);
  }
  return out;
}

std::vector<Expr> Match::all(const Pattern& part) const {
  std::vector<Expr> out;
  for (const Binding& b : bindings_) {
    if (b.part == part.get()) out.push_back(b.e);
  }
  return out;
}

Expr Match::at(std::string_view name) const {
  const std::vector<Expr> found = all(name);
  return found.empty() ? nullptr : found.front();
}

Expr Match::at(const Pattern& part) const {
  const std::vector<Expr> found = all(part);
  return found.empty() ? nullptr : found.front();
}

std::vector<Expr> Match::region() const {
  std::vector<Expr> out;
  std::unordered_set<Expr> seen;
  const auto add = [&](Expr e) {
    if (e->kind != ExprKind::kVar && seen.insert(e).second) out.push_back(e);
  };
  seen.insert(root());
  out.push_back(root());
  for (const Binding& b : bindings_) {
    if (b.part->kind == Kind::kExpr) {
      for (Expr e : post_order(b.e)) add(e);
    } else if (b.on_path || structural(b.part->kind)) {
      add(b.e);
    }
  }
  return out;
}

Match Match::mapped(const std::function<Expr(Expr)>& now) const {
  std::vector<Binding> bindings = bindings_;
  for (Binding& b : bindings) b.e = now(b.e);
  return Match(pattern_, std::move(bindings));
}

}  // namespace relay::pattern
