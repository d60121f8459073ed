// Which parts of a statement's expressions are computed once, and which for all lanes at a time.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/simplify.h"

namespace relay::kernel::codegen {

// The iterations of a vectorised loop that are computed at once: base, base + 1, ...
struct Lanes {
  Expr var;
  int64_t base;
  int count;
};

// The offset in the first lane; without lanes the offset itself.
Expr at_first_lane(Expr offset, const std::optional<Lanes>& lanes);

// A constant, which every machine has at hand, or a variable.
bool is_leaf(const ExprNode* n);

class Sharing {
 public:
  // `roots`: all that the statement evaluates unconditionally. What is known of variables, and the
  // lanes, must not change while this is used.
  Sharing(const Bounds& bounds, const std::optional<Lanes>& lanes, const std::vector<Expr>& roots);

  // What a node needs: its operands; those of a load, where the element lies in memory.
  std::vector<const ExprNode*> operands(const ExprNode* n);
  Expr offset(const ExprNode* load);

  bool is_shared(const ExprNode* n) const;
  // The shared nodes, but leaves, that both sides of a choice compute, oldest first. They are
  // computed before it: a side's own code does not run where the other side is taken.
  std::vector<const ExprNode*> on_both_sides(const ExprNode* selection);

  // Differs between lanes.
  bool is_vector(const ExprNode* n);
  // Made of loop and shape variables alone, whose sums and products address memory and do not
  // overflow.
  bool is_index(const ExprNode* n);

 private:
  void count(const ExprNode* n);
  const std::vector<const ExprNode*>& certain(const ExprNode* n);

  const Bounds& bounds_;
  const std::optional<Lanes>& lanes_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, Expr> offsets_;  // of loads
  std::unordered_map<const ExprNode*, bool> vector_, index_;
  // The shared nodes that are computed whenever the node is.
  std::unordered_map<const ExprNode*, std::vector<const ExprNode*>> certain_;
};

}  // namespace relay::kernel::codegen
