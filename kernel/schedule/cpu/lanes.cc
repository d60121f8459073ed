// Element-wise stages whose last axis is a few whole vectors, like those of tensors in blocks.
//
// Selections that are the same for all lanes (is this pixel padding, which of several images is it
// from?) become branches, so that each side works on plain vectors, and the loop over the axis
// before the last one stays a loop: places are not taken apart for each vector.
#include <optional>
#include <unordered_map>

#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {

namespace {

// More sides than this would be more code than work.
constexpr size_t kMostSides = 16;

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

// The value for each way in which its selections can go.
struct Sides {
  const ExprNode* condition = nullptr;  // null: there is only the value
  Expr value = {};
  std::vector<Sides> sides = {};  // if it holds, and if not
};

// Nothing if there are too many, or one of them does not go by vectors. `count`: of those so far.
std::optional<Sides> take_apart(Expr value, Expr lane, const Bounds& bounds, size_t& count) {
  const ExprNode* selection = invariant_selection(value, lane);
  if (!selection) {
    if (++count > kMostSides || !vectorizable(value, lane, bounds)) return std::nullopt;
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
    std::optional<Sides> rest = take_apart(substitute(value, chosen), lane, bounds, count);
    if (!rest) return std::nullopt;
    out.sides.push_back(std::move(*rest));
  }
  return out;
}

}  // namespace

Stmt write_lanes(Writer& w, const Job& job, const Stage& stage) {
  if (stage.spatial.size() < 3 || !stage.requirements.empty() || stage.buffer->dtype != kFloat32)
    return nullptr;
  const Axis &lanes = stage.spatial.back(), &column = stage.spatial[stage.spatial.size() - 2];
  const int64_t width = job.lanes();
  if (!has_whole_vectors(lanes, width)) return nullptr;
  size_t count = 0;
  const std::optional<Sides> sides = take_apart(stage.value, lanes.var, stage.bounds, count);
  if (!sides) return nullptr;
  std::vector<Expr> rows, cost;
  for (const Axis& a : stage.spatial) cost.push_back(a.extent);
  rows.assign(cost.begin(), cost.end() - 2);
  const AnchoredStage anchored{stage};
  return w.fused(outer_kind(job, cost), "row", rows, [&](const std::vector<Expr>& row) {
    return w.loop(ForKind::kSerial, "column", column.extent, [&](Expr c) {
      std::vector<Expr> at = row;
      at.push_back(c);
      const auto copy = [&](Expr value) {
        return w.loop(ForKind::kUnrolled, "v", lanes.extent->int_value / width, [&](Expr v) {
          return w.loop(ForKind::kVectorized, "lane", width, [&](Expr lane) {
            std::vector<Expr> place = at;
            place.push_back(v * width + lane);
            return w.block(stage.name, anchored.bind(place),
                           w.store(stage.buffer, anchored.variables(), value));
          });
        });
      };
      std::unordered_map<const ExprNode*, Expr> here;
      for (size_t a = 0; a < at.size(); ++a) here[stage.spatial[a].var.get()] = at[a];
      const auto write = [&](const auto& self, const Sides& way) -> Stmt {
        if (!way.condition) return copy(way.value);
        return w.choose(substitute(way.condition, here), self(self, way.sides[0]), self(self, way.sides[1]));
      };
      return write(write, *sides);
    });
  });
}

}  // namespace relay::kernel::schedule::cpu
