#include "kernel/schedule/cpu/contraction_plan.h"

#include <algorithm>

#include "base/integers.h"
#include "kernel/schedule/anchored_stage.h"
#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"
#include "target/machines.h"

namespace relay::kernel::schedule::cpu {
namespace {

// Rows that share a packed element: where vectors could go along the columns or the reduction
// without it, and where they could not.
constexpr int64_t kWorthPacking = 8, kWorthGathering = 4;

bool depends(Expr e, const std::vector<Axis>& axes, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (mentions(e, axes[i].var)) return true;
  }
  return false;
}

// The tile that wastes the least: padding of columns, too few sums in flight to hide the latency of
// an addition, more loads than the machine has time for.
void choose_tile(ContractionPlan& plan, int64_t rows, int64_t columns, const target::Cpu& cpu) {
  const int64_t width = cpu.lanes();
  const auto wanted_in_flight = static_cast<double>(cpu.products_per_cycle * target::kProductCycles);
  double best = -1;
  for (int64_t t = 1; t <= 12; ++t) {
    for (int64_t m = 1; m <= 4; ++m) {
      if (t * m + m + 1 > cpu.vector_registers || (t > rows && t > 1)) continue;
      const int64_t c = m * width;
      const double padding =
          plan.packed ? static_cast<double>(columns) / static_cast<double>(ceil_div(columns, c) * c)
                      : (columns >= c || m == 1 ? 1.0 : 0.1);
      const double remainder =
          rows % t == 0 ? 1.0 : static_cast<double>(rows - rows % t) / static_cast<double>(rows);
      const double in_flight = std::min(1.0, static_cast<double>(t * m) / wanted_in_flight);
      const double loads = std::min(1.0, static_cast<double>(t * m) / (1.25 * static_cast<double>(t + m)));
      const double score = padding * remainder * in_flight * loads + 1e-4 * static_cast<double>(t * m);
      if (score > best) {
        best = score;
        plan.tile_rows = t;
        plan.tile_vectors = m;
      }
    }
  }
}

}  // namespace

std::optional<ContractionPlan> find_contraction_plan(const Stage& s, const target::Cpu& cpu) {
  const int64_t width = cpu.lanes();
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->starts_constant() || s.spatial.empty()) return std::nullopt;
  const size_t last = s.spatial.size() - 1;
  const std::vector<Expr>& operands = view->factors;
  const auto along_columns = [&](Expr e, size_t first) { return depends(e, s.spatial, first, last + 1); };

  ContractionPlan plan;
  // Rows: the largest axis along which some operand that varies along the columns stays the same.
  for (size_t p = 0; p < last; ++p) {
    bool separate = true, reused = false;
    for (Expr e : operands) {
      const bool row = mentions(e, s.spatial[p].var), column = mentions(e, s.spatial[last].var);
      separate &= !(row && column);
      reused |= column && !row;
    }
    if (!separate || !reused || s.spatial[p].extent.is_int(1)) continue;
    if (!plan.has_rows || guess(s.spatial[p].extent) > guess(s.spatial[plan.row].extent)) {
      plan.has_rows = true;
      plan.row = p;
    }
  }
  // Columns: as many of the last axes as no operand mixes with the rows.
  plan.columns = last;
  while (plan.has_rows && plan.columns > plan.row + 1) {
    const size_t next = plan.columns - 1;
    const bool mixed = std::any_of(operands.begin(), operands.end(), [&](Expr e) {
      return mentions(e, s.spatial[plan.row].var) && mentions(e, s.spatial[next].var);
    });
    if (mixed) break;
    --plan.columns;
  }

  const Expr last_var = s.spatial[last].var;
  const bool direct = std::all_of(operands.begin(), operands.end(), [&](Expr e) {
    return worst_stride(e, last_var, s.bounds) != Stride::kOther;
  });
  const int64_t rows = plan.has_rows ? guess(s.spatial[plan.row].extent) : 1;
  // A long contiguous row needs no packing; short rows are better joined to one, and then packed.
  const bool long_rows = plan.columns == last || guess(s.spatial[last].extent) % (4 * width) == 0;
  int64_t columns = guess(s.spatial[last].extent);
  if (direct && (long_rows || rows < kWorthPacking)) {
    plan.columns = last;
    if (columns < width) return std::nullopt;
  } else {
    const bool has_vectors = direct || guess(s.reduction.back().extent) >= width;
    if (rows < (has_vectors ? kWorthPacking : kWorthGathering)) return std::nullopt;
    if (s.spatial[plan.row].extent->kind != ExprKind::kInt) return std::nullopt;
    for (Expr e : operands) {
      if (!along_columns(e, plan.columns)) continue;
      if (plan.packed) return std::nullopt;  // one buffer is enough to ask for
      plan.packed = e;
    }
    if (!plan.packed) return std::nullopt;
    for (size_t i = 1; i < s.reduction.size(); ++i) {
      if (s.reduction[i].extent->kind != ExprKind::kInt) return std::nullopt;
    }
    columns = 1;
    for (size_t i = plan.columns; i <= last; ++i) columns *= guess(s.spatial[i].extent);
    if (columns < width / 2) return std::nullopt;
  }
  choose_tile(plan, rows, columns, cpu);
  return plan;
}

}  // namespace relay::kernel::schedule::cpu
