// rewrite: expressions that match a pattern become other expressions, until none does.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "ir/builder.h"
#include "ir/module.h"
#include "pattern/match.h"

namespace relay::pattern {

// What becomes of a match. `replace` returns the replacement of `m.root()`, which must have its
// type and mean the same; or `m.root()` itself, or null, to leave it as it is. It must depend on
// the match alone.
struct Rule {
  std::string name;
  Pattern pattern;
  std::function<Expr(Builder& b, const Match& m)> replace;
};

struct RewriteOptions {
  bool once = false;         // one round instead of as many as change something
  size_t most_rounds = 100;  // if a rule still applies after so many, `Exhausted` names it
  MatchOptions match = {};
};

// A round goes through the program in evaluation order. Where a rule matches, and its region has
// nothing in common with what an earlier match of the round replaced, the first such rule that does
// not decline is applied; what it is given are the expressions as the round left them so far.
// Dominators see the program as it was before the round.
//
// Expressions in which nothing changed stay the same pointer, and what was shared stays shared. A
// round takes the time of matching every rule everywhere (match.h) and O(edges).
Expr rewrite(Context& context, std::span<const Rule> rules, Expr root, const RewriteOptions& options = {});
// All functions of the module. A replacement of a function itself must be a function.
Module rewrite(const Module& m, std::span<const Rule> rules, const RewriteOptions& options = {});

}  // namespace relay::pattern
