// A stage as a sum of products, or what else joins their like. Rules ask this, not the form of an
// expression.
#pragma once

#include <optional>
#include <vector>

#include "kernel/schedule/stage.h"

namespace relay::kernel::schedule {

struct ContractionView {
  const Stage* stage;
  std::vector<Expr> factors;  // of what is joined, in order; itself if it is no product

  bool is_sum() const { return stage->combine->kind == ExprKind::kAdd; }
  // The factors that vary along the axis.
  std::vector<Expr> along(const Axis& axis) const;
  // Results, factors and all that they load have the dtype.
  bool is_of(DType d) const;
};
// Of a reduction over at least one axis into at least one, whose values may be joined in any order,
// begins with a constant and asks for nothing.
std::optional<ContractionView> contraction_view(const Stage& s);

}  // namespace relay::kernel::schedule
