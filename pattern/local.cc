#include "pattern/local.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "op/registry.h"
#include "pattern/constraint.h"
#include "pattern/graph.h"

namespace relay::pattern {
namespace {

bool is_local_kind(Kind kind) {
  switch (kind) {
    case Kind::kExpr:
    case Kind::kVar:
    case Kind::kConstant:
    case Kind::kCall:
    case Kind::kTuple:
    case Kind::kTupleGetItem:
    case Kind::kAlt:
    case Kind::kWildcard:
    case Kind::kType:
    case Kind::kDataType:
    case Kind::kShape:
    case Kind::kAttr:
    case Kind::kOnce: return true;
    case Kind::kFunction:
    case Kind::kIf:
    case Kind::kLet:
    case Kind::kDominator: return false;
  }
  return false;
}

}  // namespace

Expr LocalMatch::at(std::string_view name) const {
  for (const Binding& b : bindings_) {
    if (b.part->name == name) return b.e;
  }
  return nullptr;
}

bool is_local(const Pattern& p) {
  std::set<const Node*> seen;
  std::vector<const Node*> pending{p.get()};
  while (!pending.empty()) {
    const Node* n = pending.back();
    pending.pop_back();
    // A part that occurs twice without a name would have to match one expression (N1).
    if (!seen.insert(n).second && n->name.empty() && !same_everywhere(*n)) return false;
    if (!is_local_kind(n->kind)) return false;
    for (const Pattern& child : n->children) pending.push_back(child.get());
  }
  return true;
}

// What is still to be matched: a list, so that a choice can be taken back.
struct LocalMatcher::Goal {
  const Node* part;
  Expr e;
  const Goal* rest;
};

struct LocalMatcher::Search {
  const UsedOnce& used_once;
  const Accept& accept;
  LocalMatch match;
};

LocalMatcher::LocalMatcher(Pattern p) : pattern_(std::move(p)) {
  CHECK(is_local(pattern_), "the pattern needs the whole program");
}

bool LocalMatcher::match(Expr e, const UsedOnce& used_once, const Accept& accept) const {
  Search s{used_once, accept, {}};
  const Goal whole{pattern_.get(), e, nullptr};
  return solve(s, &whole);
}

bool LocalMatcher::solve(Search& s, const Goal* goals) {
  if (!goals) return s.accept(s.match);
  const Node& n = *goals->part;
  const Expr e = goals->e;
  std::vector<LocalMatch::Binding>& bindings = s.match.bindings_;
  if (!n.name.empty()) {
    const auto same_name = [&](const LocalMatch::Binding& b) { return b.part->name == n.name; };
    const auto known = std::find_if(bindings.begin(), bindings.end(), same_name);
    if (known != bindings.end() && !same_expression(known->e, e)) return false;
  }
  bindings.push_back({&n, e});
  const size_t count = bindings.size();
  if (open(s, n, e, goals->rest)) return true;
  bindings.resize(count - 1);
  return false;
}

bool LocalMatcher::open(Search& s, const Node& n, Expr e, const Goal* rest) {
  if (!demand_holds(n, e)) return false;
  switch (n.kind) {
    case Kind::kCall: return solve_call(s, n, e, rest);
    case Kind::kAlt: {
      const size_t count = s.match.bindings_.size();
      for (const Pattern& way : n.children) {
        const Goal goal{way.get(), e, rest};
        if (solve(s, &goal)) return true;
        s.match.bindings_.resize(count);
      }
      return false;
    }
    case Kind::kOnce:
      if (!s.used_once(e)) return false;
      [[fallthrough]];
    case Kind::kType:
    case Kind::kDataType:
    case Kind::kShape:
    case Kind::kAttr: {
      const Goal goal{n.children[0].get(), e, rest};
      return solve(s, &goal);
    }
    case Kind::kTupleGetItem: {
      const Goal goal{n.children[0].get(), e->as<Proj>()->tuple, rest};
      return solve(s, &goal);
    }
    case Kind::kTuple: {
      if (n.any) return solve(s, rest);
      std::vector<Goal> goals(n.children.size());
      for (size_t i = goals.size(); i-- > 0;) {
        goals[i] = {n.children[i].get(), e->as<Tuple>()->fields[i],
                    i + 1 < goals.size() ? &goals[i + 1] : rest};
      }
      return solve(s, goals.empty() ? rest : goals.data());
    }
    default: return solve(s, rest);
  }
}

// C1, C2 of docs/patterns.md.
bool LocalMatcher::solve_call(Search& s, const Node& n, Expr e, const Goal* rest) {
  const auto& call = *e->as<Call>();
  const op::OpDef* def = op::callee(call);
  std::vector<Goal> goals(n.any ? 1 : n.children.size());
  const size_t count = s.match.bindings_.size();
  const bool exchanges = !n.any && def && def->commutative && call.args.size() == 2;
  for (const bool exchanged : {false, true}) {
    if (exchanged && !exchanges) break;
    for (size_t i = goals.size(); i-- > 0;) {
      const Expr part = i == 0 ? call.callee : call.args[exchanged ? 2 - i : i - 1];
      goals[i] = {n.children[i].get(), part, i + 1 < goals.size() ? &goals[i + 1] : rest};
    }
    if (solve(s, goals.data())) return true;
    s.match.bindings_.resize(count);
  }
  return false;
}

}  // namespace relay::pattern
