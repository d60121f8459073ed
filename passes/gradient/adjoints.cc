#include "passes/gradient/adjoints.h"

#include "base/cat.h"
#include "ir/type_parts.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"
#include "passes/gradient/kernels.h"

namespace relay::passes::gradient {
namespace {

// Tuples are nested at most as deeply as `refuse_deep_tuples` (program.h) allows.
Expr map_tensors(Builder& b, Expr like, const std::function<Expr(Expr)>& f) {
  const auto* type = like->type->as<TupleType>();
  if (!type) return f(like);
  const auto* tuple = like->as<Tuple>();
  std::vector<Expr> fields;
  for (uint32_t i = 0; i < type->fields.size(); ++i)
    fields.push_back(map_tensors(b, tuple ? tuple->fields[i] : b.proj(like, i), f));
  return b.tuple(fields);
}

}  // namespace

bool holds_floats(Type root) {
  bool found = false;
  for_each_type_in(root, [&](Type t) {
    const auto* tensor = t->as<TensorType>();
    found = found || (tensor && tensor->dtype.is_float());
    return !found && t->kind == TypeKind::kTuple;
  });
  return found;
}

Expr map_floats(Builder& b, Expr like, const std::function<Expr(Expr place)>& f) {
  return map_tensors(b, like, [&](Expr place) {
    return holds_floats(place->type) ? f(place) : op::call(b, op::kZerosLike, {place});
  });
}

Expr zeros(Builder& b, Expr like) {
  return map_tensors(b, like, [&](Expr place) { return op::call(b, op::kZerosLike, {place}); });
}

Expr ones(Builder& b, Expr like) {
  return map_floats(b, like, [&](Expr place) { return op::call(b, op::kOnesLike, {place}); });
}

Expr sum(Builder& b, Expr x, Expr y) { return op::call(b, op::kAdd, {x, y}); }

OperatorAdjoints adjoints_of(Builder& b, const Call& call, std::span<const Expr> args, Expr y, Expr dy) {
  const op::OpDef& def = *op::callee(call);
  if (!def.differentiate) {
    return {{},
            has_gradient_by_kernel(def) ? cat("of its kernel, ", why_no_gradient(b.context(), call))
                                        : def.not_differentiable};
  }
  try {
    return {def.differentiate(b, call.attrs, op::Site{args, y, dy})};
  } catch (const op::RelationError& error) {
    return {{}, cat("its rule does not fit these types: ", error.reason)};
  }
}

}  // namespace relay::passes::gradient
