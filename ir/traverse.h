// Traversal, iterative: programs may be nested as deeply as memory allows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/fields.h"
#include "ir/module.h"

namespace relay {

// A side table over expressions, indexed by their dense ids; grows on demand.
template <class T>
class NodeMap {
 public:
  T& operator[](Expr e) {
    if (e->id >= values_.size()) values_.resize(e->id + 1);
    return values_[e->id];
  }
  // The value, or a default-made one if none was ever set.
  const T& get(Expr e) const {
    static const T none{};
    return e->id < values_.size() ? values_[e->id] : none;
  }

 private:
  std::vector<T> values_;
};

// Each node reachable from the roots once, children before parents, in evaluation order. Binders (parameters, let
// variables, pattern variables) are visited only where they are used as expressions.
std::vector<Expr> post_order(Expr root);
std::vector<Expr> post_order(std::span<const Expr> roots);

// Walks the program as a tree of scopes over a DAG: every node is entered and left once, at its first
// occurrence. `enter` may return false to skip the children (then `leave` is not called).
void walk(Expr root, const std::function<bool(Expr)>& enter, const std::function<void(Expr)>& leave);

}  // namespace relay
