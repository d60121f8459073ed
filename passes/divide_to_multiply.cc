// divide-to-multiply: divisions by constants become multiplications, where the result is the same.
//
//   %x / 4f   becomes   %x * 0.25f
//
// That is so where each element of the divisor is a power of two (or its negative) and its
// reciprocal is a normal number: quotient and product are then the same real number, rounded once.
// A division by 3 stays, as a third is rounded itself. So do divisions of integers, and those whose
// shapes are compared when the program runs: their message names the operator.
//
// Before: nothing is asked for. After: no floating-point division by such a constant is left.
#include <cmath>
#include <optional>

#include "analysis/effects.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "passes/rules/conditions.h"

namespace relay::passes {
namespace {

// Is it a power of two, or the negative of one, that all of these dtypes hold as a normal number,
// as they hold its reciprocal?
bool has_exact_reciprocal(DType d, double v) {
  int exponent = 0;
  if (!std::isfinite(v) || std::abs(std::frexp(v, &exponent)) != 0.5) return false;
  return std::abs(exponent - 1) <= rules::least_exponent(d);  // |v| is 2^(exponent - 1)
}

std::optional<Tensor> reciprocals(const Tensor& t) {
  const DType d = t.dtype();
  if (d != kFloat16 && d != kBFloat16 && d != kFloat32 && d != kFloat64) return std::nullopt;
  Tensor out(d, t.shape());
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    if (!has_exact_reciprocal(d, v)) return std::nullopt;
    out.set(i, 1 / v);
  }
  return out;
}

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    if (op::callee(e) != &op::kDivide) return e;
    const auto& call = *e->as<Call>();
    const auto* divisor = call.args[1]->as<Constant>();
    if (!divisor || analysis::fit_of(m.context(), call, op::kDivide) != analysis::Fit::kProved) return e;
    std::optional<Tensor> factors = reciprocals(*divisor->value);
    if (!factors) return e;
    const SpanScope at(b, e->span);
    return op::call(b, op::kMultiply, {call.args[0], b.constant(std::move(*factors))});
  });
}

}  // namespace

const Pass kDivideToMultiply = {
    .name = "divide-to-multiply",
    .doc = "multiply by reciprocals of constants that are exact, powers of two",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
