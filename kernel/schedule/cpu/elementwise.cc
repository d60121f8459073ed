// Elementwise stages and reductions without a better form.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "kernel/schedule/cpu/rules.h"
#include "kernel/schedule/cpu/sides.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// Vectors that a thread does at least: enough to pay for starting on them.
constexpr int64_t kVectorsAtOnce = 256;

// Too few iterations to keep threads busy?
bool few(Expr iterations) { return iterations->kind == ExprKind::kInt && iterations->int_value < 16; }

}  // namespace

Stmt write_elementwise(Writer& w, const Job& job, const Stage& stage) {
  const std::vector<Expr> extents = extents_of(stage.spatial);
  const auto element_of = [&](const std::vector<Expr>& at, Expr value) {
    const AnchoredStage anchored{stage};
    std::vector<Stmt> body = stage.requirements;
    body.push_back(w.store(stage.buffer, anchored.variables(), value));
    return w.block(stage.name, anchored.bind(at), w.sequence(body));
  };
  const auto element = [&](const std::vector<Expr>& at) { return element_of(at, stage.value); };
  if (extents.empty()) return element({});
  const int64_t width = job.lanes();
  const ForKind outer = outer_kind(job, extents);

  const auto all_float = [&] {
    // In one long row every load moves by one element or not at all.
    return stage.requirements.empty() &&
           vectorizable(rewrite_loads(stage.value,
                                      [&](const ExprNode* n) -> Expr {
                                        return n->dtype == kFloat32 ? w.pool().real(0, kFloat32) : Expr();
                                      }),
                        stage.spatial.back().var, stage.bounds) &&
           stage.buffer->dtype == kFloat32;
  };
  if (same_place_everywhere(stage) && all_float()) {
    const Expr total = product(w.pool(), extents);
    std::vector<Stmt> parts;
    for (const Segment& s : segments(total, {kVectorsAtOnce * width, width, 1})) {
      if (s.size > width) {
        parts.push_back(w.loop(outer, "chunk", s.tiles, [&](Expr chunk) {
          return w.loop(ForKind::kSerial, "vector", kVectorsAtOnce, [&](Expr v) {
            return w.loop(ForKind::kVectorized, "lane", width, [&](Expr lane) {
              return element(unflatten(chunk * s.size + v * width + lane, extents));
            });
          });
        }));
      } else {
        parts.push_back(w.loop(ForKind::kSerial, "vector", s.tiles, [&](Expr v) {
          return w.loop(ForKind::kVectorized, "lane", s.size,
                        [&](Expr lane) { return element(unflatten(s.start + v * s.size + lane, extents)); });
        }));
      }
    }
    return w.sequence(parts);
  }

  // Rows: the last axis within a row, the others shared out. What rows choose is a branch.
  const std::vector<Expr> rows(extents.begin(), extents.end() - 1);
  const bool floats = stage.requirements.empty() && stage.buffer->dtype == kFloat32;
  const Expr last = stage.spatial.back().var;
  std::optional<Sides> sides;
  if (floats && vectorizable(stage.value, last, stage.bounds)) sides = Sides{.value = stage.value};
  if (floats && !sides) sides = sides_of(stage.value, last, stage.bounds);
  const bool vectors = sides.has_value();
  if (!sides) sides = Sides{.value = stage.value};
  const auto side = [&](const std::vector<Expr>& at, ForKind along, Expr value) {
    std::vector<Stmt> parts;
    const std::vector<int64_t> sizes = vectors ? std::vector<int64_t>{width, 1} : std::vector<int64_t>{1};
    for (const Segment& s : segments(extents.back(), sizes)) {
      parts.push_back(w.loop(along, "column", s.tiles, [&](Expr tile) {
        return w.loop(ForKind::kVectorized, "lane", s.size, [&](Expr lane) {
          std::vector<Expr> place = at;
          place.push_back(s.start + tile * s.size + lane);
          return element_of(place, value);
        });
      }));
    }
    return w.sequence(parts);
  };
  const auto row = [&](const std::vector<Expr>& at, ForKind along) {
    std::unordered_map<const ExprNode*, Expr> here;
    for (size_t a = 0; a < at.size(); ++a) here[stage.spatial[a].var.get()] = at[a];
    return choose_side(w, *sides, here, [&](Expr value) { return side(at, along, value); });
  };
  if (rows.empty()) return row({}, outer);
  if (few(product(w.pool(), rows))) {
    return w.fused(ForKind::kSerial, "row", rows,
                   [&](const std::vector<Expr>& at) { return row(at, outer); });
  }
  return w.fused(outer, "row", rows, [&](const std::vector<Expr>& at) { return row(at, ForKind::kSerial); });
}

Stmt write_reduction(Writer& w, const Job& job, const AnchoredStage& anchored) {
  const Stage& stage = anchored.stage;
  const SumOrder order = sum_order(job, stage, 1);
  const auto element = [&](const std::vector<Expr>& at) { return reduce_element(w, anchored, order, at); };
  std::vector<Expr> space = extents_of(stage.spatial);
  const std::vector<Expr> extents = space;
  for (const Axis& a : stage.reduction) space.push_back(a.extent);
  const ForKind outer = outer_kind(job, space);
  if (extents.size() < 2 || few(product(w.pool(), {extents.begin(), extents.end() - 1}))) {
    return w.fused(outer, "i", extents, element);
  }
  // The last axis stays a loop of its own, so that coordinates are not taken apart
  // for every element.
  return w.fused(outer, "row", {extents.begin(), extents.end() - 1}, [&](const std::vector<Expr>& at) {
    return w.loop(ForKind::kSerial, "column", extents.back(), [&](Expr column) {
      std::vector<Expr> place = at;
      place.push_back(column);
      return element(place);
    });
  });
}

}  // namespace relay::kernel::schedule::cpu
