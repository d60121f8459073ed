// Both traversals keep what is still to be done on a stack of their own: nodes to open,
// and nodes to close.
#include "ir/traverse.h"

namespace relay {
namespace {

// A node whose children are still to come, or (closing) one whose children are done.
struct Step {
  Expr e;
  bool closing;
};

// Pushes the children so that the first one is on top.
void push_children(std::vector<Step>& stack, Expr e) {
  const size_t start = stack.size();
  for_each_child(e, [&](Expr child) { stack.push_back({child, false}); });
  std::reverse(stack.begin() + static_cast<ptrdiff_t>(start), stack.end());
}

}  // namespace

std::vector<Expr> post_order(Expr root) { return post_order(std::span<const Expr>(&root, 1)); }

std::vector<Expr> post_order(std::span<const Expr> roots) {
  std::vector<Expr> order;
  NodeMap<bool> opened;
  std::vector<Step> stack;
  for (Expr root : roots) {
    stack.push_back({root, false});
    while (!stack.empty()) {
      const Step step = stack.back();
      stack.pop_back();
      if (step.closing) {
        order.push_back(step.e);
        continue;
      }
      bool& seen = opened[step.e];
      if (seen) continue;
      seen = true;
      stack.push_back({step.e, true});
      push_children(stack, step.e);
    }
  }
  return order;
}

void walk(Expr root, const std::function<bool(Expr)>& enter, const std::function<void(Expr)>& leave) {
  NodeMap<bool> opened;
  std::vector<Step> stack{{root, false}};
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    if (step.closing) {
      leave(step.e);
      continue;
    }
    bool& seen = opened[step.e];
    if (seen) continue;
    seen = true;
    if (!enter(step.e)) continue;
    stack.push_back({step.e, true});
    push_children(stack, step.e);
  }
}

}  // namespace relay
