#include "passes/disturbance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#include "base/check.h"
#include "op/apply.h"
#include "op/bounds.h"
#include "op/broadcast.h"
#include "op/ops.h"
#include "passes/reference.h"
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

// Of a sum in float64. Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B.
bool is_exact_sum(double a, double b, double result) {
  const double sum = a + b, part = sum - a;
  return sum == result && (a - (sum - part)) + (b - part) == 0;
}

struct Operator {
  const op::OpDef* def;
  bool (*is_exact)(double a, double b, double result);
};

// Numbers of every dtype are numbers of float64, so one multiply-add there tells what was rounded.
const Operator kOperators[] = {
    {&op::kAdd, is_exact_sum},
    {&op::kSubtract, [](double a, double b, double r) { return is_exact_sum(a, -b, r); }},
    {&op::kMultiply, [](double a, double b, double r) { return std::fma(a, b, -r) == 0; }},
    {&op::kDivide, [](double a, double b, double r) { return std::fma(r, b, -a) == 0; }},
    {&op::kSqrt, [](double a, double, double r) { return std::fma(r, r, -a) == 0; }},
};

const Operator& operator_of(const op::OpDef& def) {
  const auto it = std::find_if(std::begin(kOperators), std::end(kOperators),
                               [&](const Operator& o) { return o.def == &def; });
  CHECK(it != std::end(kOperators), "an operator that rounds once says when it did not");
  return *it;
}

// Is an element exact that the operator, which rounds once (op::is_rounded_once), gives? Every
// engine gives such an element bit for bit, also one that contracts the operator with another:
// nothing was lost that the other one could keep.
std::function<bool(int64_t)> unrounded(const op::OpDef& def, std::span<const Value> args,
                                       const Tensor& result) {
  // The argument's number that an element of the result comes from.
  const auto numbers_of = [&](const Value& v) -> std::function<double(int64_t)> {
    const Tensor& t = v.tensor();  // which the functions copy
    if (t.shape() == result.shape()) return [t](int64_t i) { return t.get(i); };
    const auto elements =
        std::make_shared<std::vector<int64_t>>(op::broadcast_elements(t.shape(), result.shape()));
    return [t, elements](int64_t i) { return t.get((*elements)[static_cast<size_t>(i)]); };
  };
  return [is_exact = operator_of(def).is_exact, a = numbers_of(args.front()), b = numbers_of(args.back()),
          result](int64_t i) { return is_exact(a(i), b(i), result.get(i)); };
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
      const double own = t.get(i);
      if (step == 0 || !std::isfinite(own)) continue;
      const double sum = of_sums[r] ? of_sums[r](i) : 0;
      // The neighbours of 0 are the smallest denormals, which no rounding makes of it.
      const double neighbour = own == 0 ? 0 : spacing(t.dtype(), own);
      const double offset = std::max(neighbour, std::isfinite(sum) ? sum : 0);
      if (offset == 0 || stays(i)) continue;  // `-0 + 0` would be `+0`
      t.set(i, own + step * offset);
    }
    results[r] = t;
  }
  size_t next = 0;
  return with_tensors(made, results, next);
}

}  // namespace relay::passes
