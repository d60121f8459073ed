#include "kernel/schedule/cpu/sides.h"

#include <span>

#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// More sides than this, or more nodes in all of them, would be more code than work.
constexpr size_t kMostSides = 64;
constexpr size_t kMostNodes = 1024;

struct Size {
  size_t sides = 0, nodes = 0;
};

size_t nodes_of(Expr value) {
  size_t count = 0;
  for_each_node(value, [&](const ExprNode*) { return ++count <= kMostNodes; });
  return count;
}

// An outermost selection that is the same for all lanes, or null. What is selected by lane stays
// together: a condition in there may only be looked at under the one around it.
const ExprNode* invariant_selection(Expr value, Expr lane) {
  const ExprNode* found = nullptr;
  for_each_node(value, [&](const ExprNode* n) {
    if (found || n->kind != ExprKind::kSelect) return !found;
    if (!n->args[0]->has_load && !mentions(n->args[0], lane)) found = n;
    return false;
  });
  return found;
}

// `size`: of the sides so far.
std::optional<Sides> take_apart(Expr value, Expr lane, const Bounds& bounds, Size& size) {
  const ExprNode* selection = invariant_selection(value, lane);
  if (!selection) {
    size.nodes += nodes_of(value);
    if (++size.sides > kMostSides || size.nodes > kMostNodes || !vectorizable(value, lane, bounds))
      return std::nullopt;
    return Sides{.value = value};
  }
  Sides out{.condition = selection->args[0]};
  for (size_t side : {1, 2}) {
    // What is selected by the same condition elsewhere goes the same way.
    std::unordered_map<const ExprNode*, Expr> chosen;
    for_each_node(value, [&](const ExprNode* n) {
      if (n->kind == ExprKind::kSelect && n->args[0] == selection->args[0]) chosen[n] = n->args[side];
      return true;
    });
    std::optional<Sides> rest = take_apart(substitute(value, chosen), lane, bounds, size);
    if (!rest) return std::nullopt;
    out.sides.push_back(std::move(*rest));
  }
  return out;
}

}  // namespace

std::optional<Sides> sides_of(Expr value, Expr lane, const Bounds& bounds) {
  Size size;
  return take_apart(value, lane, bounds, size);
}

Stmt choose_side(Writer& w, const Sides& sides, const std::unordered_map<const ExprNode*, Expr>& here,
                 const std::function<Stmt(Expr value)>& write) {
  if (!sides.condition) return write(sides.value);
  return w.choose(substitute(sides.condition, here), choose_side(w, sides.sides[0], here, write),
                  choose_side(w, sides.sides[1], here, write));
}

}  // namespace relay::kernel::schedule::cpu
