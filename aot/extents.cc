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
    case ExprKind::kBroadcast: return "broadcast_of";
    default: return nullptr;
  }
}

// `texts` has those of the operands.
std::string print_node(const kernel::ExprNode* n, const std::function<std::string(kernel::Expr)>& name,
                       const std::unordered_map<const kernel::ExprNode*, std::string>& texts) {
  if (n->kind == ExprKind::kInt) return n->int_value == INT64_MIN ? "INT64_MIN" : cat(n->int_value);
  if (n->kind == ExprKind::kVar) return name(n);
  const char* function = operation(n->kind);
  CHECK(function, cat("an extent is `", show(kernel::Expr(n)), "`"));
  return cat(function, "(", join(n->args, ", ", [&](const kernel::ExprNode* a) { return texts.at(a); }), ")");
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
  const bool is_large = Dim(e).is_too_complex();
  std::string lines;
  std::unordered_map<const kernel::ExprNode*, std::string> texts;
  size_t number = 0;
  for (const kernel::ExprNode* n : kernel::post_order(e)) {
    std::string& text = texts[n];
    text = print_node(n, name, texts);
    if (!is_large || n->args.empty()) continue;
    const std::string part = cat("extent_part", number++);
    lines += cat("const int64_t ", part, " = ", text, "; ");
    text = part;
  }
  const std::string& text = texts.at(e.get());
  return is_large ? cat("[&] { ", lines, "return ", text, "; }()") : text;
}

std::string print_extent(Dim d, const Extents& names) {
  if (d.is_const()) return cat(d.value());
  return print_extent(d.symbolic(), [&](kernel::Expr v) {
    const auto it = names.find(v.get());
    CHECK(it != names.end(), cat("extent `", show(v), "` is not known"));
    return it->second;
  });
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
