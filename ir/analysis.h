// Questions about programs that many parts ask.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/traverse.h"

namespace relay {

// Variables that occur in e and are not bound in it, in order of first occurrence.
std::vector<const Var*> free_vars(Expr e);

// Names of the module's globals that e mentions, sorted.
std::vector<Symbol> mentioned_globals(Expr e);

// Equality up to spans and the names of bound variables and type parameters (shape variables count
// by name). Sharing counts: a node used twice equals only a node used twice, but for leaves, which
// are values. Types that the checker filled in do not count, annotations do. Works across contexts.
bool alpha_equal(Expr a, Expr b);
bool alpha_equal(const Module& a, const Module& b);
bool alpha_equal(Type a, Type b);
bool structurally_equal(const kernel::Kernel& a, const kernel::Kernel& b);

// A hash that is equal for alpha-equal expressions, the same in every run.
uint64_t structural_hash(Expr e);

// Where shared nodes are evaluated: a node with several uses means a strict let at the lowest scope
// that contains all of them (docs/semantics.md, "Sharing"). A scope is the body of a function, of a
// let, a branch of an `if`, or the body of a match arm; it is named by the expression that is its
// body, the root by itself.
struct Scopes {
  struct Scope {
    Expr body;                 // the expression evaluated in this scope
    uint32_t parent;           // index of the enclosing scope; the root is its own parent
    std::vector<Expr> shared;  // nodes with more than one use that are bound here, in evaluation order
  };
  std::vector<Scope> all;      // all[0] is the root; parents before children
  NodeMap<uint32_t> scope_of;  // of each node: index of the lowest scope that contains all its uses
  NodeMap<uint32_t>
      scope_of_body;       // of each body: index of its scope (meaningful only if all[i].body is that body)
  NodeMap<uint32_t> uses;  // how many edges lead to it
  NodeMap<uint32_t>
      opens;  // of fn, let, if, match: the first scope that it opens; its others follow in order
};
Scopes scopes(Expr root);
// Is this child of the user (the number counts as for_each_child does) the body of a scope?
bool opens_scope(Expr user, size_t child);
// How often does each scope run that the form opens, when the form is evaluated? Of forms that open
// none: once, as their children do.
enum class Runs : uint8_t { kOnce, kAtMostOnce, kAnyTimes };
Runs scopes_run(Expr user);

// Problems that no user can cause: a variable bound twice or used out of scope, a null where there
// must be none, a global or constructor that does not exist. Empty if all is well. Checked after
// every pass in tests.
std::vector<std::string> well_formed(const Module& m);

}  // namespace relay
