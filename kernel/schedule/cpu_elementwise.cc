// Elementwise stages and reductions without a better form.
#include <algorithm>

#include "kernel/schedule/cpu_rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// Vectors that a thread does at least: enough to pay for starting on them.
constexpr int64_t kVectorsAtOnce = 256;

// Does every load have the place of the element that is computed, or the same place for all elements? Then the
// tensor is one long row.
bool same_place_everywhere(const Stage& stage) {
  bool same = true;
  for_each_load(stage.value, [&](const ExprNode* n) {
    const bool identical = n->buffer->shape == stage.buffer->shape &&
                           std::equal(n->args.begin(), n->args.end(), stage.spatial.begin(),
                                      [](const ExprNode* a, const Axis& s) { return is_place(a, s); });
    const bool fixed = std::none_of(stage.spatial.begin(), stage.spatial.end(),
                                    [&](const Axis& s) { return mentions(n, s.var); });
    same &= identical || fixed;
  });
  // What depends on the place itself (a range, a triangle) needs the coordinates.
  bool uses_place = false;
  for_each_node(stage.value, [&](const ExprNode* n) {
    uses_place |= n->kind == ExprKind::kVar && !n->shape_variable;
    return n->kind != ExprKind::kLoad;
  });
  return same && !uses_place;
}

// Too few iterations to keep threads busy?
bool few(Expr iterations) { return iterations->kind == ExprKind::kInt && iterations->int_value < 16; }

std::vector<Expr> extents_of(const std::vector<Axis>& axes) {
  std::vector<Expr> out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

}  // namespace

Stmt write_elementwise(Writer& w, const CpuOptions& options, const Stage& stage) {
  const std::vector<Expr> extents = extents_of(stage.spatial);
  const auto element = [&](const std::vector<Expr>& at) {
    const Work work{stage};
    std::vector<Stmt> body = stage.requirements;
    body.push_back(w.store(stage.buffer, work.variables(), stage.value));
    return w.block(stage.name, work.bind(at), w.sequence(body));
  };
  if (extents.empty()) return element({});
  const int64_t width = options.vector_floats;
  const ForKind outer = outer_kind(options, extents);

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

Stmt write_reduction(Writer& w, const CpuOptions& options, const Work& work) {
  const Stage& stage = work.stage;
  const Buffer* sum = w.local(stage.name + "_sum", stage.buffer->dtype, {w.index(1)});
  const Expr so_far = w.pool().load(sum, {w.index(0)});
  const auto element = [&](const std::vector<Expr>& at) {
    const std::vector<Binding> place = work.bind(at);
    Stmt init = w.block(stage.name + "_init", place, w.store(sum, {w.index(0)}, stage.init));
    Stmt update =
        w.loops(ForKind::kSerial, "r", extents_of(stage.reduction), [&](const std::vector<Expr>& r) {
          std::vector<Binding> bindings = place;
          for (size_t i = 0; i < r.size(); ++i)
            bindings.push_back({stage.reduction[i], IterKind::kReduction, r[i]});
          return w.block(stage.name, bindings,
                         w.store(sum, {w.index(0)}, replace_loads(stage.value, stage.buffer, so_far)));
        });
    Stmt result = w.block(stage.name + "_result", place, work.write_back(w, work.variables(), so_far));
    return w.allocate(sum, w.sequence({init, update, result}));
  };
  std::vector<Expr> space = extents_of(stage.spatial);
  const std::vector<Expr> extents = space;
  for (const Axis& a : stage.reduction) space.push_back(a.extent);
  const ForKind outer = outer_kind(options, space);
  if (extents.size() < 2 || few(product(w.pool(), {extents.begin(), extents.end() - 1}))) {
    return w.fused(outer, "i", extents, element);
  }
  // The last axis stays a loop of its own, so that coordinates are not taken apart for every element.
  return w.fused(outer, "row", {extents.begin(), extents.end() - 1}, [&](const std::vector<Expr>& at) {
    return w.loop(ForKind::kSerial, "column", extents.back(), [&](Expr column) {
      std::vector<Expr> place = at;
      place.push_back(column);
      return element(place);
    });
  });
}

}  // namespace relay::kernel::schedule
