// What the rules of the CPU schedule share.
#include <algorithm>

#include "kernel/polynomial.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {

SumOrder sum_order(const Job& job, const Stage& stage, int64_t vectors) {
  return job.settings.in_order ? kAsWritten : sum_order(stage, vectors);
}

bool has_whole_vectors(const Axis& axis, int64_t width) {
  constexpr int64_t kMostVectors = 4;
  return axis.extent->kind == ExprKind::kInt && axis.extent->int_value >= width &&
         axis.extent->int_value % width == 0 && axis.extent->int_value <= kMostVectors * width;
}

bool vectorizable(Expr e, Expr var, const Bounds& bounds) {
  if (worst_stride(e, var, bounds) == Stride::kOther) return false;
  bool floats = true;
  for_each_node(e, [&](const ExprNode* n) {
    floats &= n->dtype == kFloat32 || (n->dtype.is_bool() && !n->args.empty());
    // Indices are no part of the vector computation, and neither is an extent that
    // becomes a number.
    return floats && n->kind != ExprKind::kLoad && (n->kind != ExprKind::kCast || mentions(n, var));
  });
  return floats;
}

ForKind outer_kind(const Job& job, const std::vector<Expr>& space) {
  if (!job.settings.parallel) return ForKind::kSerial;
  int64_t work = 1;
  for (Expr e : space) {
    if (e->kind != ExprKind::kInt) return ForKind::kParallel;
    if (__builtin_mul_overflow(work, std::max<int64_t>(e->int_value, 1), &work)) return ForKind::kParallel;
  }
  return work >= job.settings.worth_threads ? ForKind::kParallel : ForKind::kSerial;
}

Stmt write_rest(Writer& w, Expr extent, int64_t size, const std::function<Stmt(Expr, int64_t)>& body) {
  const Expr rest = floor_mod(extent, size), start = floor_div(extent, size) * size;
  const auto between = [&](auto& self, int64_t low, int64_t high) -> Stmt {
    if (low + 1 == high) return low == 0 ? w.sequence({}) : body(start, low);
    const int64_t middle = low + (high - low) / 2;
    Stmt below = self(self, low, middle), above = self(self, middle, high);
    return w.choose(less(rest, w.index(middle)), below, above);
  };
  return between(between, 0, size);
}

std::vector<Segment> segments(Expr extent, const std::vector<int64_t>& sizes) {
  std::vector<Segment> out;
  Expr start = extent->pool->integer(0), rest = extent;
  int64_t larger = 0;
  for (int64_t size : sizes) {
    const Expr tiles = floor_div(rest, size);
    if (!tiles.is_int(0)) out.push_back({start, tiles, size, larger / size});
    larger = size;
    start = start + tiles * size;
    rest = floor_mod(rest, size);
    if (rest.is_int(0)) break;
  }
  return out;
}

}  // namespace relay::kernel::schedule::cpu
