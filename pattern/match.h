// match: which expressions a pattern describes.
//
// An expression matches if there is a way to choose between alternatives and between the orders of
// commutative operands so that everything fits and parts of one name match the same expression
// (docs/patterns.md). The search is exact, and its answer does not depend on addresses.
//
// With |P| parts of the pattern, |E| expressions and no part that occurs twice, asking about every
// expression of a program takes O(|P| |E|) in all, because what was found out is kept:
// alternatives do not multiply. A dominator adds the expressions between parent and child at each
// child that fits. Each of k parts that occur twice (other than in two alternatives) may multiply
// the time by the number of expressions it could match (the problem is NP-complete for unbounded
// k); usually the first guess is right, and `most_guesses` bounds the wrong ones. Each path is
// asked about an expression once, however many dominators have it. Nothing recurses over programs,
// nor over patterns but for dominators in the paths of dominators, of which `kMostNestedPaths` may
// lie in each other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "pattern/graph.h"
#include "pattern/pattern.h"

namespace relay::pattern {

// One way in which a pattern matches.
class Match {
 public:
  struct Binding {
    const Node* part;  // of the pattern
    Expr e;
    bool on_path = false;  // e is an expression between the parent and the child of a dominator
  };

  Match(Pattern pattern, std::vector<Binding> bindings)
      : pattern_(std::move(pattern)), bindings_(std::move(bindings)) {}

  const Pattern& pattern() const { return pattern_; }
  Expr root() const { return bindings_.front().e; }
  // What the part of this name, or this part, matched; null if it is in an alternative that was not
  // taken. A part of a path may match several expressions: then this is the first that is
  // evaluated, and `all` gives all of them.
  Expr at(std::string_view name) const;
  Expr at(const Pattern& part) const;
  std::vector<Expr> all(std::string_view name) const;
  std::vector<Expr> all(const Pattern& part) const;

  // Every part that took part, with its expression; the whole pattern first.
  const std::vector<Binding>& bindings() const { return bindings_; }
  // The expressions that the pattern describes, each once: the root, the expressions on paths, and
  // what was matched by anything but wildcards, variables and constraints on those, which are the
  // region's inputs.
  std::vector<Expr> region() const;
  // The same with other expressions.
  Match mapped(const std::function<Expr(Expr)>& now) const;

 private:
  Pattern pattern_;
  std::vector<Binding> bindings_;
};

struct MatchOptions {
  // How many guesses about parts that occur twice may turn out wrong at one expression, before
  // `Exhausted` is thrown.
  size_t most_guesses = 10'000;
};

// Asks about the expressions of one program, one after the other.
class Matcher {
 public:
  // The graph must outlive the matcher. Throws `Exhausted` if paths are nested too deeply.
  Matcher(Pattern pattern, const Graph& graph, MatchOptions options = {});
  ~Matcher();
  Matcher(Matcher&&) noexcept;

  const Pattern& pattern() const { return pattern_; }
  std::optional<Match> match(Expr e);

 private:
  class Searches;
  Pattern pattern_;
  std::unique_ptr<Searches> searches_;
};

// For a single question: e is the whole program.
std::optional<Match> match(const Pattern& pattern, Expr e, MatchOptions options = {});

}  // namespace relay::pattern
