// The engine of rules: rewrites a module until no rule applies.
//
// Each expression is rewritten after its children, and what a rule makes is rewritten at once, so
// that most programs need one round over them and one that finds nothing. Rules are found by the
// operator at their root. A round takes the time of the program, and of the rules that apply.
//
// A rule applies where its pattern matches, its conditions hold, and these hold besides, which are
// the same for all rules (docs/rules.md):
//   type    the right side provably has the type of the left one: no extent is `?`
//   shapes  no operator of either side compares extents when the program runs
//   order   what is dropped, exchanged or used more often can neither trap nor have an effect
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/effects.h"
#include "ir/module.h"
#include "passes/rules/rule.h"

namespace relay::passes::rules {

struct Options {
  bool bounded = false;      // rules that are not exact, too
  bool fold = true;          // calls on constants that a rule makes become constants
  size_t budget = SIZE_MAX;  // how many times a rule may apply
  analysis::TrapOrder traps = analysis::TrapOrder::kFree;
};

// One rule at one expression, for the engine and for tests.
class Application {
 public:
  Application(const Module& m, const Options& options)
      : context_(m.context()), builder_(m.context()), effects_(m, options.traps), options_(options) {}

  // The right side in place of `e`, which the rule matches; null if it does not apply.
  Expr apply(const Rule& rule, Expr e, const pattern::LocalMatcher::UsedOnce& used_once);
  // Of the first way in which the left side matches: each condition that does not hold, "type",
  // "shapes" and "order" included. Nothing if the left side does not match.
  std::optional<std::vector<std::string>> broken(const Rule& rule, Expr e);

 private:
  Expr make(const Template& t, const pattern::LocalMatch& m, Expr root);
  Expr call(const Template& t, const pattern::LocalMatch& m, Expr root);
  Expr folded(Expr call) const;
  bool keeps_checks(const pattern::LocalMatch& m, Expr now);
  bool keeps_order(const pattern::LocalMatch& m, Expr root, Expr now);

  Context& context_;
  Builder builder_;
  analysis::Effects effects_;
  Options options_;
};

struct Report {
  std::map<std::string, size_t> applied;  // how often each rule that applied did
  bool out_of_budget = false;             // a rule may still apply
};

Module simplify(const Module& m, std::span<const Rule> rules, const Options& options, Report& report);

}  // namespace relay::passes::rules
