// Graph: the order of a program's expressions, and how often each is used. Made once, asked
// by many matches.
#pragma once

#include <span>
#include <vector>

#include "ir/traverse.h"

namespace relay::pattern {

class Graph {
 public:
  explicit Graph(Expr root) : Graph(std::span<const Expr>(&root, 1)) {}
  // Being a root counts as a use. O(edges).
  explicit Graph(std::span<const Expr> roots);

  const std::vector<Expr>& order() const { return order_; }           // evaluation order: children first
  uint32_t position(Expr e) const { return facts_.get(e).position; }  // in order()
  uint32_t uses(Expr e) const {
    return facts_.get(e).uses;
  }  // edges that lead to it; 0 if it is not in the program

 private:
  struct Facts {
    uint32_t position = 0, uses = 0;
  };
  std::vector<Expr> order_;
  NodeMap<Facts> facts_;
};

// Leaves that name something, so that they need not be passed to a function.
bool is_name(Expr e);
// The same evaluation, or leaves that mean the same.
bool same_expression(Expr a, Expr b);

}  // namespace relay::pattern
