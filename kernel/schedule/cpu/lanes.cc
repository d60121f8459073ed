// Element-wise stages whose last axis is a few whole vectors, like those of tensors in blocks.
//
// Selections that are the same for all lanes (is this pixel padding, which of several images is it
// from?) become branches, so that each side works on plain vectors, and the loop over the axis
// before the last one stays a loop: places are not taken apart for each vector.
#include <optional>
#include <unordered_map>

#include "kernel/schedule/cpu/rules.h"
#include "kernel/schedule/cpu/sides.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {

Stmt write_lanes(Writer& w, const Job& job, const Stage& stage) {
  if (stage.spatial.size() < 3 || !stage.requirements.empty() || stage.buffer->dtype != kFloat32)
    return nullptr;
  const Axis &lanes = stage.spatial.back(), &column = stage.spatial[stage.spatial.size() - 2];
  const int64_t width = job.lanes();
  if (!has_whole_vectors(lanes, width)) return nullptr;
  const std::optional<Sides> sides = sides_of(stage.value, lanes.var, stage.bounds);
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
      return choose_side(w, *sides, here, copy);
    });
  });
}

}  // namespace relay::kernel::schedule::cpu
