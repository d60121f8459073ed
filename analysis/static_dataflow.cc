#include "analysis/static_dataflow.h"

#include <set>

#include "base/cat.h"
#include "op/apply.h"

namespace relay::analysis {
namespace {

bool is_dataflow(ExprKind kind) {
  switch (kind) {
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kLet: return true;
    case ExprKind::kCtorRef:
    case ExprKind::kFn:
    case ExprKind::kIf:
    case ExprKind::kMatch:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return false;
  }
  return false;
}

}  // namespace

std::string_view construct_name(Expr e) {
  switch (e->kind) {
    case ExprKind::kIf: return "`if`";
    case ExprKind::kMatch: return "`match`";
    case ExprKind::kFn: return "a function value";
    case ExprKind::kGlobal: return "a call of another function";
    case ExprKind::kCtorRef: return "a data type's constructor";
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return "a reference";
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kOpRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kLet: break;
  }
  return "this expression";
}

bool refuse_static(Expr e, Slug slug, std::string message, Diagnostics& diagnostics) {
  diagnostics.error(e->span, slug, std::move(message))
      .note("the engines `interp` and `jit` run any program, and `aot-cpp` nearly any");
  return false;
}

bool refuse_many_tensors(Expr tuple, Diagnostics& diagnostics) {
  return refuse_static(
      tuple, "value-too-large",
      cat("a tuple has more than ", kMostTensors, " tensors here, counting what is shared each time"),
      diagnostics);
}

FieldTensors tensors_of_field(const Proj& proj) {
  const auto* tuple = proj.tuple->type->as<TupleType>();
  const auto count = [&](uint32_t field) {
    return op::flatten(std::vector<Type>{tuple->fields[field]}).size();
  };
  FieldTensors out{0, count(proj.index)};
  for (uint32_t i = 0; i < proj.index; ++i) out.begin += count(i);
  return out;
}

bool is_static_dataflow(const std::vector<Expr>& post_order, Diagnostics& diagnostics) {
  std::set<std::string_view> refused;
  for (Expr e : post_order) {
    if (is_dataflow(e->kind) || !refused.insert(construct_name(e)).second) continue;
    refuse_static(e, "not-static-dataflow", cat(construct_name(e), " is not static dataflow"), diagnostics);
  }
  return refused.empty();
}

bool static_tensors(Expr e, std::vector<const TensorType*>& out, Diagnostics& diagnostics,
                    const std::function<bool(const TensorType&)>& welcome) {
  std::vector<Type> pending{e->type};
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (const auto* tuple = t->as<TupleType>()) {
      for (size_t i = tuple->fields.size(); i-- > 0;) pending.push_back(tuple->fields[i]);
      continue;
    }
    const auto* tensor = t->as<TensorType>();
    if (!tensor) {
      return refuse_static(e, "not-static-dataflow", cat("a value of type ", show(t), " is not a tensor"),
                           diagnostics);
    }
    const auto shape = tensor->static_shape();
    const bool fits = shape ? element_count(*shape).has_value() : welcome && welcome(*tensor);
    if (!fits) {
      return refuse_static(
          e, "dynamic-shape",
          cat("the shape of ", show(t), " is not constant; give the input shapes (--input-shapes)"),
          diagnostics);
    }
    out.push_back(tensor);
  }
  return true;
}

}  // namespace relay::analysis
