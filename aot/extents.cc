#include "aot/extents.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace relay::aot {
namespace {

using kernel::ExprKind;

// The function of support/extents.cc that does an operation on extents; null if there is none.
const char* operation(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd: return "sum_of";
    case ExprKind::kMul: return "product_of";
    case ExprKind::kFloorDiv: return "floor_div";
    case ExprKind::kFloorMod: return "floor_mod";
    case ExprKind::kMin: return "least";
    case ExprKind::kMax: return "greatest";
    default: return nullptr;
  }
}

}  // namespace

bool is_printable(kernel::Expr e, const std::function<bool(kernel::Expr)>& known) {
  if (e->kind == ExprKind::kInt) return true;
  if (e->kind == ExprKind::kVar) return known(e);
  return operation(e->kind) &&
         std::all_of(e->args.begin(), e->args.end(), [&](kernel::Expr a) { return is_printable(a, known); });
}

std::string print_extent(kernel::Expr e, const std::function<std::string(kernel::Expr)>& name) {
  if (e->kind == ExprKind::kInt) return e->int_value == INT64_MIN ? "INT64_MIN" : cat(e->int_value);
  if (e->kind == ExprKind::kVar) return name(e);
  std::vector<std::string> parts;
  for (kernel::Expr a : e->args) parts.push_back(print_extent(a, name));
  const char* function = operation(e->kind);
  CHECK(function, cat("an extent is `", show(e), "`"));
  return cat(function, "(", join(parts, ", "), ")");
}

void add_extents(Type t, std::vector<kernel::Expr>& out) {
  if (const auto* tuple = t->as<TupleType>()) {
    for (Type field : tuple->fields) add_extents(field, out);
  } else if (const auto* tensor = t->as<TensorType>()) {
    for (Dim d : tensor->dims) {
      if (d.is_symbolic()) out.push_back(d.symbolic());
    }
  }
}

}  // namespace relay::aot
