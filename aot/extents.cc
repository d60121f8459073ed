#include "aot/extents.h"

#include <vector>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/walk.h"

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

bool is_printable(kernel::Expr root, const std::function<bool(kernel::Expr)>& known) {
  bool printable = true;
  kernel::for_each_node(root, [&](const kernel::ExprNode* n) {
    if (!printable || n->kind == ExprKind::kInt) return false;
    printable = n->kind == ExprKind::kVar ? known(n) : operation(n->kind) != nullptr;
    return printable;
  });
  return printable;
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

void add_extents(Type root, std::vector<kernel::Expr>& out) {
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (const auto* tuple = t->as<TupleType>()) {
      for (size_t i = tuple->fields.size(); i-- > 0;) pending.push_back(tuple->fields[i]);
    } else if (const auto* tensor = t->as<TensorType>()) {
      for (Dim d : tensor->dims) {
        if (d.is_symbolic()) out.push_back(d.symbolic());
      }
    }
  }
}

}  // namespace relay::aot
