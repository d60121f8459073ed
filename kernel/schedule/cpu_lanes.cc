// Element-wise stages whose last axis is a few whole vectors, like those of tensors in blocks.
//
// A selection that is the same for all lanes (is this pixel padding?) becomes a branch, so that each side is a plain
// copy of vectors, and the loop over the axis before the last one stays a loop: places are not taken apart for each vector.
#include "kernel/schedule/cpu_rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {

Stmt write_lanes(Writer& w, const CpuOptions& options, const Stage& stage) {
  if (stage.spatial.size() < 3 || !stage.requirements.empty() || stage.buffer->dtype != kFloat32)
    return nullptr;
  const Axis &lanes = stage.spatial.back(), &column = stage.spatial[stage.spatial.size() - 2];
  const int64_t width = options.vector_floats;
  if (!has_whole_vectors(lanes, width)) return nullptr;
  std::vector<Expr> sides{stage.value};
  Expr condition = {};
  if (stage.value->kind == ExprKind::kSelect && !mentions(stage.value->args[0], lanes.var)) {
    condition = stage.value->args[0];
    sides = {stage.value->args[1], stage.value->args[2]};
  }
  for (Expr side : sides) {
    if (!vectorizable(side, lanes.var)) return nullptr;
  }
  std::vector<Expr> rows, cost;
  for (const Axis& a : stage.spatial) cost.push_back(a.extent);
  rows.assign(cost.begin(), cost.end() - 2);
  const Work work{stage};
  return w.fused(outer_kind(options, cost), "row", rows, [&](const std::vector<Expr>& row) {
    return w.loop(ForKind::kSerial, "column", column.extent, [&](Expr c) {
      std::vector<Expr> at = row;
      at.push_back(c);
      const auto copy = [&](Expr value) {
        return w.loop(ForKind::kUnrolled, "v", lanes.extent->int_value / width, [&](Expr v) {
          return w.loop(ForKind::kVectorized, "lane", width, [&](Expr lane) {
            std::vector<Expr> place = at;
            place.push_back(v * width + lane);
            return w.block(stage.name, work.bind(place), w.store(stage.buffer, work.variables(), value));
          });
        });
      };
      if (!condition) return copy(sides[0]);
      std::unordered_map<const ExprNode*, Expr> here;
      for (size_t a = 0; a < at.size(); ++a) here[stage.spatial[a].var.get()] = at[a];
      return w.choose(substitute(condition, here), copy(sides[0]), copy(sides[1]));
    });
  });
}

}  // namespace relay::kernel::schedule
