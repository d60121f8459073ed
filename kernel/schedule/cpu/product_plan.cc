#include "kernel/schedule/cpu/product_plan.h"

#include <algorithm>
#include <array>

#include "kernel/schedule/anchored_stage.h"
#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// Rows that share a packed element and are too few for it, measured with AVX-512 from 1 to 24 rows.
// A matrix whose columns are scattered, as the weight of a dense layer is, is read along them four
// rows at a time (dot.cc): weights of 64x256 to 1024x4096 break even at seven rows. One whose
// columns lie side by side is read as well where it is: large ones break even between 16 and 20.
constexpr int64_t kFewRows = 6;
constexpr int64_t kFewRowsOfLines = 17;

constexpr int64_t kLightOperations = 8;

// x[.., panel, .., column in it]: panels as wide as the last extent of x. They are in order if x
// ends like a panel layout: x[.., panel, k, column in it].
void look_for_panels(ProductPlan& plan, const Stage& s, int64_t width) {
  const ExprNode* n = plan.operand;
  if (n->kind != ExprKind::kLoad || n->args.size() < 3) return;
  const Expr column = s.spatial.back().var, c = n->buffer->shape[n->args.size() - 1];
  if (c->kind != ExprKind::kInt || c->int_value < 1 || c->int_value % width != 0) return;
  const Layout panels = panel_layout(c->int_value);
  const std::vector<Expr> index = panels.index(std::array{column, s.reduction[0].var}),
                          at(n->args.begin(), n->args.end());
  const Expr panel = index[panels.place(kPanelColumns)];
  size_t others = 0;
  bool tile = false;
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    tile |= at[i] == panel;
    others += mentions(at[i], column);
  }
  if (!tile || others != 1 || at.back() != index[panels.block_place(kPanelColumns)]) return;
  plan.in_panels = true;
  plan.in_order = std::equal(index.rbegin(), index.rend(), at.rbegin());
  plan.columns = c->int_value;
}

}  // namespace

std::optional<ProductPlan> find_product_plan(const Stage& s, const target::Cpu& cpu, bool only_if_worth_it) {
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->is_sum() || !view->starts_constant() || s.spatial.empty() || s.reduction.size() != 1 ||
      !view->is_of(kFloat32))
    return std::nullopt;
  const Axis& column = s.spatial.back();
  const std::vector<Expr> operands = view->along(column);
  if (operands.size() != 1 || view->factors.size() < 2 || !mentions(operands[0], s.reduction[0].var))
    return std::nullopt;
  ProductPlan plan;
  plan.operand = operands[0].get();
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < s.spatial.size(); ++i) {
    if (mentions(plan.operand, s.spatial[i].var)) {
      plan.outer.push_back(i);
    } else {
      plan.rows.push_back(i);
      rows *= guess(s.spatial[i].extent);
    }
  }
  look_for_panels(plan, s, cpu.lanes());
  if (plan.in_panels) return plan;
  // A matrix that lies as it is read, and stays in the cache, is read where it is.
  const bool contiguous = worst_stride(plan.operand, column.var, s.bounds) != Stride::kOther;
  const int64_t bytes = 4 * guess(column.extent) * guess(s.reduction[0].extent);
  plan.few_rows = contiguous ? kFewRowsOfLines : kFewRows;
  const bool worth_it = rows > plan.few_rows && guess(column.extent) >= cpu.lanes() &&
                        !(contiguous && bytes < cpu.l2.bytes / 4);
  if (only_if_worth_it && !worth_it) return std::nullopt;
  plan.columns = kPanelVectors * cpu.lanes();
  return plan;
}

bool is_light(Expr e) {
  int64_t operations = 0;
  for_each_node(e, [&](const ExprNode* n) {
    if (n->kind == ExprKind::kLoad) return false;
    if (n->kind == ExprKind::kMath) operations += kLightOperations;
    operations += n->args.empty() ? 0 : 1;
    return true;
  });
  return operations <= kLightOperations;
}

}  // namespace relay::kernel::schedule::cpu
