#include "passes/disturbance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "op/apply.h"
#include "op/bounds.h"
#include "passes/reference.h"
#include "passes/unrounded.h"
#include "runtime/compare.h"

namespace relay::passes {
namespace {

// Of the bound of an operator, for a sum of float64.
constexpr double kPartOfBound = 0.25;

// The value with the tensors in the place of its own. Operators give tensors and tuples of them,
// and hardly deeper ones.
Value with_tensors(const Value& like, const std::vector<Tensor>& tensors, size_t& next) {
  if (like.is_tensor()) return Value(tensors[next++]);
  if (like.kind() != ValueKind::kTuple) return like;
  std::vector<Value> fields;
  for (const Value& field : like.fields()) fields.push_back(with_tensors(field, tensors, next));
  return Value::tuple(std::move(fields));
}

// How far off the sums are that no run measures, for each tensor of a reduction's result. Empty for
// those that runs measure.
std::vector<Bound> sum_errors(Context& context, const op::OpDef& def, std::span<const Value> args,
                              const Attrs& attrs, const std::vector<Tensor>& results) {
  std::vector<Bound> out(results.size());
  if (def.tolerance.kind != op::Tolerance::Kind::kReduction) return out;
  const auto is_wide = [](const Tensor& t) { return t.dtype() == kFloat64; };
  const auto is_small = [](const Tensor& t) {
    return t.dtype().is_float() && t.dtype() != kFloat64 && t.size() < kFewestErrors;
  };
  if (std::any_of(results.begin(), results.end(), is_wide)) {
    const std::vector<Bound> bounds = op::bounds(context, def, args, attrs, results);
    for (size_t r = 0; r < results.size(); ++r) {
      if (is_wide(results[r])) out[r] = [b = bounds[r]](int64_t i) { return kPartOfBound * b(i); };
    }
  }
  if (std::any_of(results.begin(), results.end(), is_small)) {
    const std::vector<Tensor> sums = op::magnitudes(context, def, args, attrs, results);
    const double u = kFloat32.unit_roundoff();  // narrower sums are float32, too
    for (size_t r = 0; r < results.size(); ++r) {
      if (is_small(results[r])) out[r] = [u, s = sums[r]](int64_t i) { return u * std::fabs(s.get(i)); };
    }
  }
  return out;
}

}  // namespace

Value Disturbance::of(Context& context, const op::OpDef& def, std::span<const Value> args, const Attrs& attrs,
                      const Value& made) {
  if (def.tolerance.kind == op::Tolerance::Kind::kExact) return made;
  std::vector<Tensor> results = tensors_of(made);
  const std::vector<Bound> of_sums = sum_errors(context, def, args, attrs, results);
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].dtype().is_float()) continue;
    Tensor t = results[r].copy();
    std::function<bool(int64_t)> stays = [](int64_t) { return false; };
    if (op::is_rounded_once(def)) stays = unrounded(def, args, results[r]);
    for (int64_t i = 0; i < t.size(); ++i) {
      const int step = static_cast<int>(random_() % 3) - 1;
      if (!std::isfinite(t.get(i)) || stays(i)) continue;
      const double sum = of_sums[r] ? of_sums[r](i) : 0;
      t.set(i, t.get(i) + step * std::max(spacing(t.dtype(), t.get(i)), std::isfinite(sum) ? sum : 0));
    }
    results[r] = t;
  }
  size_t next = 0;
  return with_tensors(made, results, next);
}

}  // namespace relay::passes
