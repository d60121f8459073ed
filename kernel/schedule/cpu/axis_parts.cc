#include "kernel/schedule/cpu/axis_parts.h"

#include <algorithm>

#include "kernel/simplify.h"
#include "kernel/walk.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr int64_t kFewestLanes = 2;

// The axis of the parts becomes the one at `before`. The width must divide the axis.
AxisParts in_parts(const AnchoredStage& anchored, size_t axis, int64_t width, size_t before) {
  AxisParts out{anchored, width};
  Stage& s = out.anchored.stage;
  const Axis whole = s.spatial[axis];
  ExprPool& pool = *whole.var->pool;
  const Axis part{pool.variable("part"), pool.integer(whole.extent->int_value / width)},
      inner{pool.variable("in_part"), pool.integer(width)};
  for (const Axis& a : {part, inner}) s.bounds.bind(a.var, a.extent);

  for (const Axis& a : s.spatial) out.element.push_back(a.var);
  out.element[axis] = part.var * width + inner.var;
  s.spatial[axis] = inner;
  s.spatial.insert(s.spatial.begin() + static_cast<std::ptrdiff_t>(before), part);

  const auto moved = [&](Expr e) {
    return simplify(substitute(e, {{whole.var.get(), out.element[axis]}}), s.bounds);
  };
  s.init = moved(s.init);
  s.value = moved(s.value);
  s.next = moved(s.next);
  return out;
}

int64_t loads_along(Expr e, Expr var) {
  int64_t count = 0;
  for_each_load(e, [&](const ExprNode* load) { count += mentions(load, var); });
  return count;
}

// The constant that divides the variable somewhere in the expression, and divides its extent; 0 if
// there is none.
int64_t divisor_of(Expr e, const Axis& axis) {
  int64_t found = 0;
  for_each_node(e, [&](const ExprNode* n) {
    if (n->kind != ExprKind::kFloorDiv || Expr(n->args[0]) != axis.var) return true;
    const int64_t by = n->args[1]->kind == ExprKind::kInt ? n->args[1]->int_value : 0;
    if (by > 1 && axis.extent->int_value % by == 0) found = by;
    return true;
  });
  return found;
}

}  // namespace

std::optional<AxisParts> lane_parts(const AnchoredStage& anchored, int64_t lanes) {
  const Stage& s = anchored.stage;
  if (s.kind != StageKind::kReduce || !s.next || s.spatial.empty()) return std::nullopt;
  const size_t last = s.spatial.size() - 1;
  const Axis& axis = s.spatial[last];
  if (axis.extent->kind != ExprKind::kInt || worst_stride(s.next, axis.var, s.bounds) != Stride::kOther)
    return std::nullopt;
  for (int64_t width = lanes; width >= kFewestLanes; width /= 2) {
    if (axis.extent->int_value % width != 0) continue;
    AxisParts parts = in_parts(anchored, last, width, std::max<size_t>(last, 2) - 2);
    const Stage& part = parts.anchored.stage;
    const Expr lane = part.spatial.back().var;
    if (worst_stride(part.next, lane, part.bounds) == Stride::kOther) continue;
    if (loads_along(part.next, lane) < loads_along(s.next, axis.var)) return parts;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<AxisParts> row_parts(const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  if (s.kind != StageKind::kReduce || !s.next) return std::nullopt;
  for (size_t a = 0; a + 1 < s.spatial.size(); ++a) {
    if (s.spatial[a].extent->kind != ExprKind::kInt) continue;
    if (const int64_t width = divisor_of(s.next, s.spatial[a]); width != 0)
      return in_parts(anchored, a, width, a);
  }
  return std::nullopt;
}

}  // namespace relay::kernel::schedule::cpu
