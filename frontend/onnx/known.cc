// What is known of the tensors of a model while it is imported, and expressions for
// what is only known.
#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/sequences.h"
#include "frontend/onnx/stored.h"
#include "op/extent_value.h"
#include "op/registry.h"

namespace relay::frontend {
namespace {

// About how much arithmetic it is to evaluate a call with so many elements.
int64_t work_of(const op::OpDef& op, int64_t largest_argument, int64_t results) {
  const bool sums = op.fusion >= op::Fusion::kReduction || op.expand;
  return sums ? results * std::max<int64_t>(1, largest_argument) : results + largest_argument;
}

}  // namespace

Expr Importer::materialise(Operand& operand) {
  if (operand.storage) throw no_arithmetic(*operand.storage);
  return carrier(operand);
}

Expr Importer::carrier(Operand& operand) {
  if (operand.expr) return operand.expr;
  if (operand.elements) {
    const Type type = value_type(*this, operand);
    if (!type) {
      throw Refusal{"unsupported-operator-form",
                    "a sequence without elements, or an optional value that is not there, is needed when the "
                    "model runs, and nothing says what its elements would be",
                    {}};
    }
    return operand.expr = as_value(*this, operand, type);
  }
  const IndexTensor& index = *operand.index;
  if (index.constant()) return operand.expr = builder_.constant(tensor_of(index));
  std::vector<Expr> parts;
  for (Dim d : index.elements)
    parts.push_back(
        op::call(builder_, op::kReshape, {materialise(d)}, {{"newshape", std::vector<int64_t>{1}}}));
  Expr e = parts.size() == 1
               ? parts[0]
               : op::call(builder_, op::kConcatenate, {builder_.tuple(parts)}, {{"axis", int64_t{0}}});
  if (index.shape.size() != 1) e = op::call(builder_, op::kReshape, {e}, {{"newshape", index.shape}});
  if (index.dtype != kInt64) e = op::call(builder_, op::kCast, {e}, {{"dtype", index.dtype}});
  return operand.expr = e;
}

Expr Importer::materialise(Dim dim) {
  const auto value = [&](kernel::Expr variable) -> Expr {
    const auto place = places_.find(variable.get());
    if (place == places_.end())
      throw Refusal{"unsupported-operator-form",
                    cat("the extent `", show(dim), "` is needed as a number, and no input has it"),
                    {}};
    const Expr shape = op::call(builder_, op::kShapeOf, {place->second.param}, {{"dtype", kInt64}});
    const Expr axis = builder_.constant(Tensor::scalar_int(kInt64, place->second.axis));
    return op::call(builder_, op::kTake, {shape, axis}, {{"axis", int64_t{0}}});
  };
  if (const Expr e = op::value_of_extent(builder_, dim, value)) return e;
  throw Refusal{"unsupported-operator-form", cat("the extent `", show(dim), "` is needed as a number"), {}};
}

std::optional<Tensor> Importer::known(const Operand& operand) {
  constexpr int64_t kMostElements = 1 << 20;  // more is no parameter of an operator
  if (!operand.expr) {
    if (operand.index && operand.index->constant()) return tensor_of(*operand.index);
    return std::nullopt;
  }
  if (const auto* constant = operand.expr->as<Constant>()) return *constant->value;
  if (!operand.closed) return std::nullopt;

  // The number of elements, or nothing if there are too many.
  const auto elements = [&](Type t) -> std::optional<int64_t> {
    int64_t all = 0;
    for (const TensorType* part : op::flatten(std::span<const Type>(&t, 1))) {
      const std::optional<Shape> shape = part->static_shape();
      const std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
      if (!count || *count > kMostElements) return std::nullopt;
      all += *count;
    }
    return all;
  };
  // Evaluates what was not tried yet, children first; a null value says that it cannot be done.
  const auto evaluate = [&](Expr e) -> relay::Value {
    if (const auto* constant = e->as<Constant>()) return relay::Value(*constant->value);
    if (const auto* tuple = e->as<Tuple>()) {
      std::vector<relay::Value> fields;
      for (Expr f : tuple->fields) {
        fields.push_back(evaluated_[f]);
        if (!fields.back()) return {};
      }
      return relay::Value::tuple(std::move(fields));
    }
    if (const auto* proj = e->as<Proj>()) {
      const relay::Value& whole = evaluated_[proj->tuple];
      return whole ? whole.fields()[proj->index] : relay::Value();
    }
    const auto* call = e->as<Call>();
    const op::OpDef* op = call ? op::callee(*call) : nullptr;
    if (!op || op->effects == op::Effects::kEffect || !e->type) return {};
    const std::optional<int64_t> results = elements(e->type);
    if (!results) return {};
    int64_t largest = 0;
    std::vector<relay::Value> args;
    for (Expr a : call->args) {
      args.push_back(evaluated_[a]);
      if (!args.back()) return {};
      for (const Tensor& t : op::flatten(std::span<const relay::Value>(&args.back(), 1)))
        largest = std::max(largest, t.size());
    }
    // A model may ask for more arithmetic than anybody wants to wait for: then
    // nothing more is known.
    if (largest > kMostElements || work_of(*op, largest, *results) > evaluation_budget_) return {};
    evaluation_budget_ -= work_of(*op, largest, *results);
    try {
      return op::evaluate(context(), *op, args, call->attrs);
    } catch (const Trap&) {
      return {};  // it will trap when the program runs
    }
  };
  std::vector<std::pair<Expr, bool>> pending{{operand.expr, false}};
  while (!pending.empty()) {
    const auto [e, ready] = pending.back();
    pending.pop_back();
    if (tried_[e]) continue;
    if (ready) {
      tried_[e] = true;
      evaluated_[e] = evaluate(e);
      continue;
    }
    pending.emplace_back(e, true);
    if (const auto* call = e->as<Call>()) {
      for (Expr a : call->args) pending.emplace_back(a, false);
    } else if (const auto* tuple = e->as<Tuple>()) {
      for (Expr f : tuple->fields) pending.emplace_back(f, false);
    } else if (const auto* proj = e->as<Proj>()) {
      pending.emplace_back(proj->tuple, false);
    }
  }
  const relay::Value& value = evaluated_[operand.expr];
  if (!value || !value.is_tensor()) return std::nullopt;
  return value.tensor();
}

std::optional<IndexTensor> Importer::index(Operand& operand) {
  if (operand.index) return operand.index;
  if (operand.storage) return std::nullopt;  // nobody computes shapes with such elements
  if (!operand.closed || !operand.expr->type) return std::nullopt;
  const auto* type = operand.expr->type->as<TensorType>();
  const std::optional<Shape> shape = type ? type->static_shape() : std::nullopt;
  const std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
  if (!count || *count > kMaxIndexElements) return std::nullopt;
  if (const std::optional<Tensor> value = known(operand)) operand.index = index_of(*value);
  return operand.index;
}

}  // namespace relay::frontend
