// Selections that are the same for all lanes of a vector, as branches.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/bounds.h"
#include "kernel/schedule/writer.h"

namespace relay::kernel::schedule::cpu {

// The value for each way in which its selections can go.
struct Sides {
  const ExprNode* condition = nullptr;  // null: there is only the value
  Expr value = {};
  std::vector<Sides> sides = {};  // if it holds, and if not
};

// Sides whose values go by vectors along `lane`. Nothing if one of them does not, or if they are
// more code than work.
std::optional<Sides> sides_of(Expr value, Expr lane, const Bounds& bounds);

// What `write` makes of the value that holds where the axes are `here`.
Stmt choose_side(Writer& w, const Sides& sides, const std::unordered_map<const ExprNode*, Expr>& here,
                 const std::function<Stmt(Expr value)>& write);

}  // namespace relay::kernel::schedule::cpu
