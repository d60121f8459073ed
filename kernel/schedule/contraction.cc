#include "kernel/schedule/contraction.h"

#include <algorithm>
#include <iterator>

#include "kernel/walk.h"

namespace relay::kernel::schedule {

std::vector<Expr> ContractionView::along(const Axis& axis) const {
  std::vector<Expr> out;
  std::copy_if(factors.begin(), factors.end(), std::back_inserter(out),
               [&](Expr e) { return mentions(e, axis.var); });
  return out;
}

bool ContractionView::is_of(DType d) const {
  bool yes = stage->buffer->dtype == d && stage->next->dtype == d;
  for_each_load(stage->next, [&](const ExprNode* n) { yes &= n->dtype == d; });
  return yes;
}

std::optional<ContractionView> contraction_view(const Stage& s) {
  if (s.spatial.empty() || s.reduction.empty() || !s.combine || !s.init.is_const() || !s.requirements.empty())
    return std::nullopt;
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
