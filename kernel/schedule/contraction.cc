#include "kernel/schedule/contraction.h"

#include <algorithm>
#include <iterator>

#include "kernel/walk.h"

namespace relay::kernel::schedule {

bool ContractionView::starts_neutral() const {
  const Expr init = stage->init;
  const auto is = [&](int64_t value) {
    return init.is_int(value) ||
           (init->kind == ExprKind::kFloat && init->float_value == static_cast<double>(value));
  };
  switch (stage->combine->kind) {
    case ExprKind::kAdd: return is(0);
    case ExprKind::kMul: return is(1);
    default: return init.is_const();  // the others are idempotent
  }
}

std::optional<std::array<Expr, 2>> ContractionView::operands() const {
  const Expr e = stage->next;
  if (e->kind != ExprKind::kMul || e->args.size() != 2) return std::nullopt;
  return std::array<Expr, 2>{e->args[0], e->args[1]};
}

std::vector<Expr> ContractionView::along(const Axis& axis) const {
  std::vector<Expr> out;
  std::copy_if(factors.begin(), factors.end(), std::back_inserter(out),
               [&](Expr e) { return mentions(e, axis.var); });
  return out;
}

bool ContractionView::separates(const Axis& row, const Axis& column) const {
  bool only_row = false, only_column = false, both = false;
  for_each_load(stage->next, [&](const ExprNode* n) {
    const bool r = mentions(n, row.var), c = mentions(n, column.var);
    only_row |= r && !c;
    only_column |= c && !r;
    both |= r && c;
  });
  return only_row && only_column && !both;
}

bool ContractionView::is_of(DType d) const {
  bool yes = stage->buffer->dtype == d && stage->next->dtype == d;
  for_each_load(stage->next, [&](const ExprNode* n) { yes &= n->dtype == d; });
  return yes;
}

std::optional<ContractionView> contraction_view(const Stage& s) {
  if (s.reduction.empty() || !s.combine || !s.requirements.empty()) return std::nullopt;
  ContractionView out{&s, {}};
  std::vector<Expr> pending{s.next};
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (e->kind == ExprKind::kMul) {
      pending.insert(pending.end(), std::make_reverse_iterator(e->args.end()),
                     std::make_reverse_iterator(e->args.begin()));
    } else {
      out.factors.push_back(e);
    }
  }
  return out;
}

}  // namespace relay::kernel::schedule
