// Elementwise stages and reductions without a better form.
#include <algorithm>

#include "kernel/schedule/cpu/rules.h"
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
  const auto element = [&](const std::vector<Expr>& at) {
    const AnchoredStage anchored{stage};
    std::vector<Stmt> body = stage.requirements;
    body.push_back(w.store(stage.buffer, anchored.variables(), stage.value));
    return w.block(stage.name, anchored.bind(at), w.sequence(body));
  };
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

  // Rows: the last axis within a row, the others shared out.
  const std::vector<Expr> rows(extents.begin(), extents.end() - 1);
  const bool vectors = stage.requirements.empty() && stage.buffer->dtype == kFloat32 &&
                       vectorizable(stage.value, stage.spatial.back().var, stage.bounds);
  const auto row = [&](const std::vector<Expr>& at, ForKind along) {
    std::vector<Stmt> parts;
    const std::vector<int64_t> sizes = vectors ? std::vector<int64_t>{width, 1} : std::vector<int64_t>{1};
    for (const Segment& s : segments(extents.back(), sizes)) {
      parts.push_back(w.loop(along, "column", s.tiles, [&](Expr tile) {
        return w.loop(ForKind::kVectorized, "lane", s.size, [&](Expr lane) {
          std::vector<Expr> place = at;
          place.push_back(s.start + tile * s.size + lane);
          return element(place);
        });
      }));
    }
    return w.sequence(parts);
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
