#include "exporter/onnx/extents.h"

#include "base/cat.h"

namespace relay::exporter {

void Extents::add_input(const std::string& name, const TensorType& type) {
  for (size_t axis = 0; axis < type.rank(); ++axis) {
    const Dim d = type.dims[axis];
    if (d.is_symbolic() && d.symbolic()->kind == kernel::ExprKind::kVar)
      variables_.try_emplace(d.symbolic().get(), Place{name, static_cast<int64_t>(axis)});
  }
}

std::string Extents::vector(std::span<const Dim> dims) {
  std::vector<int64_t> known;
  for (Dim d : dims) {
    if (d.is_unknown())
      throw Refusal{"an extent depends on the data, and shapes are computed from shapes here"};
    if (d.is_const()) known.push_back(d.value());
  }
  if (known.size() == dims.size()) return graph_.ints(known);
  Names parts;
  for (Dim d : dims) parts.push_back(d.is_const() ? graph_.ints({d.value()}) : value_of(d.symbolic()));
  return parts.size() == 1 ? parts[0] : graph_.node("Concat", parts, {{"axis", 0}});
}

std::string Extents::value_of(kernel::Expr e) {
  std::string& name = values_[e.get()];
  if (name.empty()) name = computed(e);
  return name;
}

std::string Extents::folded(std::string_view op, kernel::Expr e) {
  std::string sum = value_of(e->args[0]);
  for (size_t i = 1; i < e->args.size(); ++i) sum = graph_.node(op, {sum, value_of(e->args[i])});
  return sum;
}

// The depth of an extent is limited (Dim::is_too_complex), so recursion is, too.
std::string Extents::computed(kernel::Expr e) {
  using kernel::ExprKind;
  switch (e->kind) {
    case ExprKind::kInt: return graph_.ints({e->int_value});
    case ExprKind::kVar: {
      const auto it = variables_.find(e.get());
      if (it == variables_.end())
        throw Refusal{cat("the shape variable `", show(Dim(e)), "` is the extent of no input by itself")};
      const auto& [input, axis] = it->second;
      return graph_.node("Shape", {input}, {{"start", axis}, {"end", axis + 1}});
    }
    case ExprKind::kAdd: return folded("Add", e);
    case ExprKind::kMul: return folded("Mul", e);
    case ExprKind::kMin: return folded("Min", e);
    case ExprKind::kMax: return folded("Max", e);
    case ExprKind::kFloorMod: return folded("Mod", e);
    case ExprKind::kFloorDiv: {
      // ONNX truncates, so what remains of a division that rounds down goes first.
      const std::string whole = value_of(e->args[0]), part = value_of(e->args[1]);
      if (e->args[0]->non_negative && e->args[1]->non_negative) return graph_.node("Div", {whole, part});
      const std::string even = graph_.node("Sub", {whole, graph_.node("Mod", {whole, part})});
      return graph_.node("Div", {even, part});
    }
    case ExprKind::kBroadcast: {
      const std::string a = value_of(e->args[0]), b = value_of(e->args[1]);
      return graph_.node("Where", {graph_.node("Equal", {a, graph_.ints({1})}), b, a});
    }
    default: throw Refusal{cat("the extent `", show(Dim(e)), "` has no form in ONNX")};
  }
}

}  // namespace relay::exporter
