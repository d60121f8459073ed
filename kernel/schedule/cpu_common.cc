// What the rules of the CPU schedule share.
#include <algorithm>

#include "kernel/polynomial.h"
#include "kernel/schedule/cpu_rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {

Stmt Work::write_back(Writer& w, const std::vector<Expr>& at, Expr result) const {
  if (!epilogue) return w.store(stage.buffer, at, result);
  std::unordered_map<const ExprNode*, Expr> by;
  for (size_t i = 0; i < at.size(); ++i) by[epilogue->spatial[i].var.get()] = at[i];
  return w.store(epilogue->buffer, at, replace_loads(substitute(epilogue->value, by), stage.buffer, result));
}

std::vector<Expr> Work::variables() const {
  std::vector<Expr> out;
  for (const Axis& a : stage.spatial) out.push_back(a.var);
  return out;
}

std::vector<Binding> Work::bind(const std::vector<Expr>& at) const {
  std::vector<Binding> out;
  for (size_t i = 0; i < at.size(); ++i) out.push_back({stage.spatial[i], IterKind::kSpatial, at[i]});
  return out;
}

bool has_whole_vectors(const Axis& axis, int64_t width) {
  constexpr int64_t kMostVectors = 4;
  return axis.extent->kind == ExprKind::kInt && axis.extent->int_value >= width &&
         axis.extent->int_value % width == 0 && axis.extent->int_value <= kMostVectors * width;
}

bool is_place(Expr index, const Axis& axis) {
  return index == axis.var || (axis.extent.is_int(1) && index.is_int(0));
}

Stride stride_along(const ExprNode* load, Expr var) {
  bool moves = false;
  for (size_t d = 0; d < load->args.size(); ++d) {
    if (!mentions(load->args[d], var)) continue;
    if (d + 1 < load->args.size()) return Stride::kOther;
    moves = true;
    const Expr rest = Expr(load->args[d]) - var;
    if (mentions(rest, var)) return Stride::kOther;
  }
  return moves ? Stride::kOne : Stride::kNone;
}

Stride worst_stride(Expr e, Expr var, const Bounds& bounds) {
  Stride worst = Stride::kNone;
  for_each_load(e, [&](const ExprNode* n) { worst = std::max(worst, stride_along(n, var)); });
  // Vector code evaluates both sides of a selection.
  bool guarded = false;
  for_each_node(e, [&](const ExprNode* n) {
    guarded |= n->kind == ExprKind::kSelect && mentions(n->args[0], var) && protects_loads(n, bounds);
    return !guarded;
  });
  return guarded ? Stride::kOther : worst;
}

bool vectorizable(Expr e, Expr var, const Bounds& bounds) {
  if (worst_stride(e, var, bounds) == Stride::kOther) return false;
  bool floats = true;
  for_each_node(e, [&](const ExprNode* n) {
    floats &= n->dtype == kFloat32 || (n->dtype.is_bool() && n->args.size() > 0);
    return floats && n->kind != ExprKind::kLoad;  // indices are no part of the vector computation
  });
  return floats;
}

Expr replace_loads(Expr e, const Buffer* buffer, Expr by) {
  return rewrite_loads(e, [&](const ExprNode* n) { return n->buffer == buffer ? by : Expr(); });
}

int64_t guess(Expr extent) { return extent->kind == ExprKind::kInt ? extent->int_value : kUnknownExtent; }

ForKind outer_kind(const CpuOptions& options, const std::vector<Expr>& space) {
  constexpr int64_t kWorthThreads = 32768;
  if (!options.parallel) return ForKind::kSerial;
  int64_t work = 1;
  for (Expr e : space) {
    if (e->kind != ExprKind::kInt) return ForKind::kParallel;
    if (__builtin_mul_overflow(work, std::max<int64_t>(e->int_value, 1), &work)) return ForKind::kParallel;
  }
  return work >= kWorthThreads ? ForKind::kParallel : ForKind::kSerial;
}

std::vector<Segment> segments(Expr extent, const std::vector<int64_t>& sizes) {
  std::vector<Segment> out;
  Expr start = extent->pool->integer(0), rest = extent;
  for (int64_t size : sizes) {
    const Expr tiles = floor_div(rest, size);
    if (!tiles.is_int(0)) out.push_back({start, tiles, size});
    start = start + tiles * size;
    rest = floor_mod(rest, size);
    if (rest.is_int(0)) break;
  }
  return out;
}

}  // namespace relay::kernel::schedule
