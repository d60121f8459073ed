// The matcher against a naive one that tries everything, on small random programs and patterns.
#include <random>
#include <set>

#include "op/ops.h"
#include "op/registry.h"
#include "pattern/testing.h"

namespace relay::pattern {
namespace {

// ---- The naive matcher: the rules of docs/patterns.md, one after the other ----

class Naive {
 public:
  explicit Naive(Expr root) : graph_(root) {}

  using Bound = std::map<std::string, Expr>;

  bool matches(const Pattern& p, Expr e, Bound bound = {}) const {
    return all({{p.get(), e}}, std::move(bound));
  }

 private:
  using Goals = std::vector<std::pair<const Node*, Expr>>;

  // Is there a way in which all goals hold at once?
  bool all(Goals goals, Bound bound) const {
    if (goals.empty()) return true;
    const auto [n, e] = goals.back();
    goals.pop_back();
    const std::string key = n->name.empty() ? cat("node ", reinterpret_cast<uintptr_t>(n)) : n->name;
    const auto [known, fresh] = bound.emplace(key, e);
    if (!fresh && !same_expression(known->second, e)) return false;  // N1 to N3
    for (const Goals& way : ways(*n, e)) {
      Goals more = goals;
      more.insert(more.end(), way.begin(), way.end());
      if (all(more, bound)) return true;
    }
    return false;
  }

  std::vector<Goals> ways(const Node& n, Expr e) const {
    const auto child = [&](size_t i) { return n.children[i].get(); };
    switch (n.kind) {
      case Kind::kWildcard: return {{}};
      case Kind::kVar: return e->kind == ExprKind::kVar ? one({}) : none();
      case Kind::kConstant: return e->kind == ExprKind::kConstant ? one({}) : none();
      case Kind::kExpr: return e->as<OpRef>() && e->as<OpRef>()->op == n.op ? one({}) : none();
      case Kind::kOnce: return uses(e) == 1 ? one({{child(0), e}}) : none();
      case Kind::kAlt: return {{{child(0), e}}, {{child(1), e}}};
      case Kind::kTupleGetItem: {
        const auto* proj = e->as<Proj>();
        return proj && proj->index == n.index ? one({{child(0), proj->tuple}}) : none();
      }
      case Kind::kTuple: {
        const auto* tuple = e->as<Tuple>();
        if (!tuple || tuple->fields.size() != n.children.size()) return none();
        Goals goals;
        for (size_t i = 0; i < n.children.size(); ++i) goals.emplace_back(child(i), tuple->fields[i]);
        return one(goals);
      }
      case Kind::kCall: {
        const auto* call = e->as<Call>();
        if (!call || call->args.size() + 1 != n.children.size()) return none();
        Goals goals{{child(0), call->callee}};
        for (size_t i = 0; i < call->args.size(); ++i) goals.emplace_back(child(i + 1), call->args[i]);
        std::vector<Goals> out{goals};
        if (call->args.size() == 2 && op::callee(e) && op::callee(e)->commutative) {
          std::swap(goals[1].second, goals[2].second);
          out.push_back(goals);
        }
        return out;
      }
      case Kind::kDominator: {
        std::vector<Goals> out;
        for (Expr p : graph_.order()) {
          if (dominates(n.children[1], p, e)) out.push_back({{child(2), e}, {child(0), p}});
        }
        return out;
      }
      default: ADD_FAILURE() << "not generated"; return none();
    }
  }

  // Places that use e; the program as a whole is one, too.
  size_t uses(Expr e) const {
    size_t out = e == graph_.order().back() ? 1 : 0;
    for (Expr user : graph_.order()) for_each_child(user, [&](Expr input) { out += input == e; });
    return out;
  }

  // D1 to D4, but for what parent and child say.
  bool dominates(const Pattern& path, Expr parent, Expr child) const {
    if (parent == child || is_name(parent) || parent->kind == ExprKind::kConstant) return false;
    // What the child is made of, without looking behind the parent.
    std::set<Expr> between;
    std::vector<Expr> pending{child};
    bool reached = false;
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      for_each_child(e, [&](Expr input) {
        if (input == parent) reached = true;
        if (input != parent && !is_leaf(input) && between.insert(input).second) pending.push_back(input);
      });
    }
    if (!reached) return false;
    for (Expr e : between) {
      if (!matches(path, e)) return false;           // D1
      if (escapes(e, between, child)) return false;  // D2
      if (!depends(e, parent)) return false;         // D3
    }
    return !escapes(parent, between, child);
  }

  bool escapes(Expr e, const std::set<Expr>& between, Expr child) const {
    if (e == graph_.order().back()) return true;
    for (Expr user : graph_.order()) {
      bool uses = false;
      for_each_child(user, [&](Expr input) { uses |= input == e; });
      if (uses && user != child && !between.contains(user)) return true;
    }
    return false;
  }

  bool depends(Expr e, Expr on) const {
    const std::vector<Expr> below = post_order(e);
    return std::count(below.begin(), below.end(), on) > 0;
  }

  static std::vector<Goals> one(Goals goals) { return {std::move(goals)}; }
  static std::vector<Goals> none() { return {}; }

  const Graph graph_;
};

// ---- Random programs and patterns ----

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  bool once_in(size_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

const op::OpDef* const kUnary[] = {&op::kTanh, &op::kExp};
const op::OpDef* const kBinary[] = {&op::kAdd, &op::kSubtract};

Expr program(Random& r, Context& context) {
  Builder b(context);
  std::vector<Expr> made{b.var("x"), b.var("y"), b.scalar(kFloat32, 1)};
  const size_t size = 2 + r.below(6);
  for (size_t i = 0; i < size; ++i) {
    // Near the end of the list, so that most of what is made is used.
    const auto pick = [&] {
      return r.once_in(3) ? r.of(made) : made[made.size() - 1 - r.below(std::min<size_t>(made.size(), 3))];
    };
    switch (r.below(8)) {
      case 0: made.push_back(b.tuple({pick(), pick()})); break;
      case 1: made.push_back(b.proj(pick(), static_cast<uint32_t>(r.below(2)))); break;
      case 2:
      case 3:
      case 4: made.push_back(b.call(b.op(*kUnary[r.below(2)]), {pick()})); break;
      default: made.push_back(b.call(b.op(*kBinary[r.below(2)]), {pick(), pick()})); break;
    }
  }
  return made.back();
}

// Patterns with parts that occur twice, by name or by being shared.
class PatternMaker {
 public:
  explicit PatternMaker(Random& r) : r_(r) {}

  Pattern operator()(size_t depth, bool names = true) {
    if (!made_.empty() && names && r_.once_in(5)) return r_.of(made_);
    Pattern p = make(depth, names);
    if (names && r_.once_in(4)) p = p.named(r_.once_in(2) ? "a" : "b");
    if (names) made_.push_back(p);
    return p;
  }

  Pattern dominator() {
    const Pattern child = (*this)(1), parent = (*this)(1);
    PatternMaker other(r_);
    const Pattern path = r_.once_in(3) ? wildcard() : other(1);
    return dominates(parent, path, child);
  }

 private:
  Pattern make(size_t depth, bool names) {
    const auto part = [&] { return (*this)(depth - 1, names); };
    if (depth == 0 || r_.once_in(5)) {
      const size_t kind = r_.below(6);
      return kind == 0 ? var() : kind == 1 ? constant() : wildcard();
    }
    switch (r_.below(10)) {
      case 0: return tuple({part(), part()});
      case 1: return proj(part(), static_cast<uint32_t>(r_.below(2)));
      case 2:
      case 3: return part() | part();
      case 4: return call(op(*kUnary[r_.below(2)]), part());
      case 9: return part().used_once();
      case 5: return call(op(*kUnary[0]) | op(*kUnary[1]), part());
      default: return call(op(*kBinary[r_.below(2)]), part(), part());
    }
  }

  Random& r_;
  std::vector<Pattern> made_;
};

struct Counts {
  size_t matched = 0, refused = 0;
};

void compare(uint64_t seed, bool dominators, Counts& counts) {
  SCOPED_TRACE(cat("seed ", seed));
  Random r(seed);
  Context context;
  const Expr root = program(r, context);
  PatternMaker make(r);
  Pattern p = dominators ? make.dominator() : make(3);
  if (dominators && r.once_in(3)) p = tuple({p, make(1)}) | p | call(op(op::kAdd), p, make(1));
  const Graph graph(root);
  const Naive naive(root);
  Matcher matcher(p, graph), second(p, graph);
  for (Expr e : graph.order()) {
    const std::optional<Match> found = matcher.match(e);
    ASSERT_EQ(found.has_value(), naive.matches(p, e)) << print(p) << "\nat expression " << e->id;
    ++(found ? counts.matched : counts.refused);
    if (!found) continue;
    EXPECT_EQ(found->root(), e);
    // What it says of the names is one of the ways.
    Naive::Bound bound;
    for (const char* name : {"a", "b"}) {
      if (found->at(name) && !dominators) bound[name] = found->at(name);
    }
    EXPECT_TRUE(naive.matches(p, e, bound)) << print(p) << "\nat expression " << e->id;
    // Nothing that was asked before changes the answer.
    const Match alone = *second.match(e);
    ASSERT_EQ(alone.bindings().size(), found->bindings().size());
    for (size_t i = 0; i < alone.bindings().size(); ++i)
      EXPECT_EQ(alone.bindings()[i].e, found->bindings()[i].e);
  }
}

TEST(RandomMatch, AgreesWithTheNaiveMatcher) {
  Counts counts;
  for (uint64_t seed = 1; seed <= 4000 && !HasFailure(); ++seed) compare(seed, false, counts);
  EXPECT_GT(counts.matched, 2000u);
  EXPECT_GT(counts.refused, 2000u);
}

TEST(RandomMatch, AgreesWithTheNaiveMatcherOnDominators) {
  Counts counts;
  for (uint64_t seed = 1; seed <= 6000 && !HasFailure(); ++seed) compare(seed, true, counts);
  EXPECT_GT(counts.matched, 500u);
  EXPECT_GT(counts.refused, 2000u);
}

TEST(RandomMatch, TheTextMatchesTheSame) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Random r(seed);
    Context context;
    const Expr root = program(r, context);
    PatternMaker make(r);
    const Pattern p = seed % 2 ? make(3) : make.dominator();
    const std::string text = print(p);
    Diagnostics diagnostics;
    const Result<Pattern> again = parse("pattern", text, diagnostics);
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(print(*again), text);
    const Graph graph(root);
    Matcher one(p, graph), other(*again, graph);
    for (Expr e : graph.order()) {
      EXPECT_EQ(one.match(e).has_value(), other.match(e).has_value()) << text << "\nat expression " << e->id;
    }
  }
}

}  // namespace
}  // namespace relay::pattern
