// fast-math: functions become the approximations that the established system names.
//
//   exp(%x)               becomes   fast_exp(%x), and so do tanh, erf and nn.softmax
//   sigmoid(%x)           becomes   1 / (1 + fast_exp(-%x)), but for float16 and 8 bits
//   divide(%x, sqrt(%y))  becomes   %x * rsqrt(%y)
//
// A result is within 16 units in the last place, as far as it is a normal number; one of nn.softmax
// is within the bound of that operator. The approximations of exp, tanh, erf and nn.softmax are
// here as exact as the functions (op/math/fast.cc), so what gets faster is the division by a root.
// In float16 an exponential is infinite where a sigmoid is not 0 yet, and float8_e4m3 has NaN for
// infinite. Calls on values of type parameters stay, and so do divisions whose shapes are compared
// when the program runs.
//
// Before: types are known. It is in no level: name it. After: there is no exp, tanh, erf and
// nn.softmax but on values of type parameters.
#include "analysis/effects.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "passes/rules/conditions.h"

namespace relay::passes {
namespace {

struct Row {
  const op::OpDef *exact, *fast;
};
constexpr Row kRows[] = {
    {&op::kExp, &op::kFastExp},
    {&op::kTanh, &op::kFastTanh},
    {&op::kErf, &op::kFastErf},
    {&op::kSoftmax, &op::kFastSoftmax},
};

Expr scalar(relay::Builder& b, DType dtype, double value) { return b.constant(Tensor::scalar(dtype, value)); }

bool is_all_ones(Expr e) {
  const auto* constant = e->as<Constant>();
  for (int64_t i = 0; constant && i < constant->value->size(); ++i) {
    if (constant->value->get(i) != 1) return false;
  }
  return constant != nullptr;
}

// Is an exponential finite wherever a sigmoid is a normal number?
bool has_wide_exponents(DType d) { return rules::least_exponent(d) >= 126; }

Expr sigmoid(relay::Builder& b, Expr x, DType dtype) {
  const Expr one = scalar(b, dtype, 1), power = op::call(b, op::kFastExp, {op::call(b, op::kNegative, {x})});
  return op::call(b, op::kDivide, {one, op::call(b, op::kAdd, {one, power})});
}

// A quotient by a root; the call itself if it is none.
Expr quotient(relay::Builder& b, Context& context, const Call& call) {
  if (op::callee(call.args[1]) != &op::kSqrt) return &call;
  if (analysis::fit_of(context, call, op::kDivide) != analysis::Fit::kProved) return &call;
  const Expr root = op::call(b, op::kRsqrt, {call.args[1]->as<Call>()->args[0]});
  if (is_all_ones(call.args[0]) && root->type == call.type) return root;
  return op::call(b, op::kMultiply, {call.args[0], root});
}

Module run(const Module& m, const PassContext&) {
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const op::OpDef* def = op::callee(e);
    const TensorType* type = def ? rules::tensor_of(e) : nullptr;
    if (!type || type->has_type_var || !type->dtype.is_float()) return e;
    const auto& call = *e->as<Call>();
    const SpanScope at(b, e->span);
    for (const Row& row : kRows) {
      if (row.exact == def) return op::call(b, *row.fast, {call.args[0]}, op::attr_args(call.attrs));
    }
    if (def == &op::kSigmoid && has_wide_exponents(type->dtype)) return sigmoid(b, call.args[0], type->dtype);
    return def == &op::kDivide ? quotient(b, m.context(), call) : e;
  });
}

}  // namespace

const Pass kFastMath = {
    .name = "fast-math",
    .doc = "take the fast approximations of exp, tanh, erf, nn.softmax, sigmoid and quotients by roots",
    .approximates = true,
    .run = run,
};

}  // namespace relay::passes
