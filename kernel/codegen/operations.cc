#include "kernel/codegen/operations.h"

#include <cmath>

#include "kernel/scalar.h"

namespace relay::kernel::codegen {

bool was_clamped_to(DType d, const ExprNode* n) {
  const auto fits = [&](double v) {
    return std::fabs(v) < 0x1p31 && v >= static_cast<double>(integer_of_real(d, -0x1p31)) &&
           v <= static_cast<double>(integer_of_real(d, 0x1p31));
  };
  bool low = false, high = false;
  for (;;) {
    if (n->kind == ExprKind::kMin || n->kind == ExprKind::kMax) {
      const int c = n->args[1]->kind == ExprKind::kFloat ? 1 : 0;
      const ExprNode* bound = n->args[static_cast<size_t>(c)];
      if (bound->kind != ExprKind::kFloat || !fits(bound->float_value)) return false;
      (n->kind == ExprKind::kMin ? high : low) = true;
      n = n->args[static_cast<size_t>(1 - c)];
    } else if (n->kind == ExprKind::kMath && n->fn >= Math::kFloor && n->fn <= Math::kRound) {
      n = n->args[0];
    } else {
      return false;
    }
    if (low && high) return true;
  }
}

Number number_operand(const ExprNode* n) {
  const auto is_number = [](const ExprNode* a) {
    return a->kind == ExprKind::kFloat && !std::isnan(a->float_value);
  };
  if (is_number(n->args[1])) return Number::kRight;
  return is_number(n->args[0]) ? Number::kLeft : Number::kNone;
}

bool divides_naturals(const ExprNode* n, const Bounds& bounds) {
  const Interval a = bounds.of(n->args[0]), b = bounds.of(n->args[1]);
  return a.low && *a.low >= 0 && b.low && *b.low >= 1;
}

}  // namespace relay::kernel::codegen
