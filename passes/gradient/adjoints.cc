#include "passes/gradient/adjoints.h"

#include <algorithm>

#include "base/cat.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"

namespace relay::passes::gradient {
namespace {

// Does the test hold for all tensors, or with `any` for one of them? What is neither a tensor nor a
// tuple counts as `other`.
bool find_tensor(Type root, bool any, bool other, const std::function<bool(const TensorType&)>& test) {
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (const auto* tuple = t->as<TupleType>()) {
      pending.insert(pending.end(), tuple->fields.begin(), tuple->fields.end());
      continue;
    }
    const auto* tensor = t->as<TensorType>();
    if ((tensor ? test(*tensor) : other) == any) return any;
  }
  return !any;
}

// Tuples are nested at most as deeply as `too_deep` (program.h) allows.
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

bool is_of_tensors(Type t) {
  return find_tensor(t, false, false, [](const TensorType&) { return true; });
}

bool holds_floats(Type t) {
  return find_tensor(t, true, false, [](const TensorType& tensor) { return tensor.dtype.is_float(); });
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
    return {{}, def.not_differentiable.empty() ? "no rule is known" : def.not_differentiable};
  }
  try {
    return {def.differentiate(b, call.attrs, op::Site{args, y, dy})};
  } catch (const op::RelationError& error) {
    return {{}, cat("its rule does not fit these types: ", error.reason)};
  }
}

}  // namespace relay::passes::gradient
