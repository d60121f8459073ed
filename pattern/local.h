// local: matches a pattern against expressions that are still being made.
//
// A `Matcher` (match.h) needs the whole program first, because dominators and `once` ask for it.
// A rewriter that goes on with what it has just made has no such program. A LocalMatcher looks at
// the expression alone. Parts mean the same here and there; the order of preference is the same.
//
// It takes patterns without dominators, functions, `if`, `let` and numbered parts: see
// `is_local`. The time is bounded by the pattern, not by the program: each alternative and each
// pair of commutative operands at most doubles it. It recurses as deep as the pattern has parts.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "pattern/pattern.h"

namespace relay::pattern {

// What the parts of a pattern matched, in the order in which the search met them.
class LocalMatch {
 public:
  struct Binding {
    const Node* part;
    Expr e;
  };

  Expr at(std::string_view name) const;  // null if there is no part of this name
  const std::vector<Binding>& bindings() const { return bindings_; }

 private:
  friend class LocalMatcher;
  std::vector<Binding> bindings_;
};

// Can a LocalMatcher match it?
bool is_local(const Pattern& p);

class LocalMatcher {
 public:
  // The pattern must be local.
  explicit LocalMatcher(Pattern p);

  // Of an expression: is it used at one place? Parts that are marked `once` ask it.
  using UsedOnce = std::function<bool(Expr)>;
  // Of a way to match: is it taken? Else the search goes on.
  using Accept = std::function<bool(const LocalMatch&)>;

  // Looks for a way to match e that is taken. False if there is none.
  bool match(Expr e, const UsedOnce& used_once, const Accept& accept) const;

  const Pattern& pattern() const { return pattern_; }

 private:
  struct Goal;
  struct Search;
  static bool solve(Search& s, const Goal* goals);
  static bool open(Search& s, const Node& n, Expr e, const Goal* rest);
  static bool solve_call(Search& s, const Node& n, Expr e, const Goal* rest);

  Pattern pattern_;
};

}  // namespace relay::pattern
