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

bool begins_once(const Step& init, size_t around, const std::vector<Step>& then) {
  if (around == 0) return true;
  Bounds bounds;
  const std::vector<Expr> loops =
      variables_of({init.axes.begin(), init.axes.begin() + static_cast<std::ptrdiff_t>(around)}, bounds);
  const auto is_around = [&](Expr v) {
    return v->shape_variable || std::find(loops.begin(), loops.end(), v) != loops.end();
  };
  std::vector<size_t> dims;  // that the loops around decide
  std::vector<Expr> own;
  for (size_t d = 0; d < init.place.size(); ++d) {
    const std::vector<Expr> all = variables(init.place[d]);
    if (!std::all_of(all.begin(), all.end(), is_around)) continue;
    dims.push_back(d);
    own.push_back(init.place[d]);
  }
  bool keeps = are_distinct(own, loops, bounds);
  const auto look = [&](const auto& at) {
    for (const size_t d : dims) keeps = keeps && init.place[d] == at[d];
  };
  const auto look_at_loads = [&](Expr e) {
    for_each_load(e, [&](const ExprNode* n) {
      if (n->buffer == init.buffer) look(n->args);
    });
  };
  for (const Step& t : then) {
    if (t.buffer == init.buffer) look(t.place);
    look_at_loads(t.value);
    for (Expr e : t.conditions) look_at_loads(e);
    for (Expr e : t.place) look_at_loads(e);
  }
  return keeps;
}

}  // namespace relay::kernel
