// Known branches: which branch an `if` takes and which arm a `match` does, where the program says
// what they depend on.
#pragma once

#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "ir/rewrite.h"

namespace relay::passes {

// What takes the place of an `if` or a `match` may have a type that says more than theirs.
enum class BranchTypes : uint8_t {
  kInferred,  // types say what is known now
  kWritten,   // types stay as they were, by annotations
  kNone,      // no branch is taken
};

struct BranchesTaken {
  Expr root;
  // Expressions of the old root from which evaluations were taken away or moved. All is well if
  // nothing in them is shared that can be noticed; otherwise it is to be bound by lets
  // (let_insertion.h) before branches are taken.
  std::vector<Expr> touched;
  // Shared expressions of the old root that would have to be bound by lets for more branches.
  std::unordered_set<Expr> to_bind;
};

// Rewrites like relay::rewrite, and takes known branches on the way. An `if` on a constant is its
// branch. A `match` on a tuple or a constructed value is its arm, with lets that evaluate the
// fields in their order: those that nothing binds, too, if that can be noticed. `f` is not asked
// about variables. Linear.
BranchesTaken rewrite_known_branches(const Module& m, Expr root, BranchTypes types, const RewriteFn& f);

}  // namespace relay::passes
