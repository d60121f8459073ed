#include "aot/extents.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace relay::aot {
namespace {

using kernel::ExprKind;

// How an operation on extents is written: between its operands, or as a function of support/extents.cc before them.
struct Operation {
  const char* sign = nullptr;
  const char* function = nullptr;
};

Operation operation(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd: return {.sign = " + "};
    case ExprKind::kMul: return {.sign = " * "};
    case ExprKind::kFloorDiv: return {.function = "floor_div"};
    case ExprKind::kFloorMod: return {.function = "floor_mod"};
    case ExprKind::kMin: return {.function = "least"};
    case ExprKind::kMax: return {.function = "greatest"};
    default: return {};
  }
}

}  // namespace

bool is_printable(kernel::Expr e, const std::function<bool(kernel::Expr)>& known) {
  if (e->kind == ExprKind::kInt) return true;
  if (e->kind == ExprKind::kVar) return known(e);
  const Operation op = operation(e->kind);
  return (op.sign || op.function) &&
         std::all_of(e->args.begin(), e->args.end(), [&](kernel::Expr a) { return is_printable(a, known); });
}

std::string print_extent(kernel::Expr e, const std::function<std::string(kernel::Expr)>& name) {
  if (e->kind == ExprKind::kInt) return cat(e->int_value);
  if (e->kind == ExprKind::kVar) return name(e);
  std::vector<std::string> parts;
  for (kernel::Expr a : e->args) parts.push_back(print_extent(a, name));
  const Operation op = operation(e->kind);
  CHECK(op.sign || op.function, cat("an extent is `", show(e), "`"));
  // Sums and products have any number of terms.
  return op.sign ? cat("(", join(parts, op.sign), ")") : cat(op.function, "(", join(parts, ", "), ")");
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
