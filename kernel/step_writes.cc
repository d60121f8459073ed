#include "kernel/step_writes.h"

#include <algorithm>

#include "kernel/distinct_places.h"
#include "kernel/index_inverse.h"
#include "kernel/walk.h"

namespace relay::kernel {
namespace {

std::vector<Expr> variables_of(const std::vector<StepAxis>& axes, Bounds& bounds) {
  std::vector<Expr> out;
  for (const StepAxis& a : axes) {
    bounds.bind(a.var, a.extent);
    out.push_back(a.var);
  }
  return out;
}

}  // namespace

bool writes_once(const Step& s) {
  if (covers(s)) return true;
  std::vector<StepAxis> axes = s.axes;
  // Axes that a condition lets run once: `if (i == 0)`.
  const auto is_fixed = [&](Expr e) {
    return !e->has_load &&
           std::none_of(s.axes.begin(), s.axes.end(), [&](const StepAxis& a) { return mentions(e, a.var); });
  };
  for (Expr all : s.conditions) {
    for (Expr c : conjuncts(all)) {
      if (c->kind != ExprKind::kEqual) continue;
      const Expr left(c->args[0]), right(c->args[1]);
      std::erase_if(axes, [&](const StepAxis& a) {
        return (left == a.var && is_fixed(right)) || (right == a.var && is_fixed(left));
      });
    }
  }
  Bounds bounds;
  if (are_distinct(s.place, variables_of(axes, bounds), bounds)) return true;
  std::vector<Expr> p, shape(s.buffer->shape.begin(), s.buffer->shape.end());
  for (Expr dim : shape) p.push_back(dim->pool->variable("p"));
  return index_inverse(axes, s.place, p, shape, {}).left.empty();
}

}  // namespace relay::kernel
