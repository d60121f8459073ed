#include "driver/tolerance.h"

#include <algorithm>
#include <cmath>

#include "op/apply.h"
#include "op/registry.h"
#include "passes/reference.h"

namespace relay::driver {
namespace {

// The call that a function consists of: an operator applied to its parameters and constants.
const Call* only_call(const Fn& fn) {
  const auto* call = fn.body->as<Call>();
  if (!call || !op::callee(*call)) return nullptr;
  for (Expr arg : call->args) {
    const auto leaf = [](Expr e) { return e->as<Var>() || e->as<Constant>(); };
    if (const auto* tuple = arg->as<Tuple>()) {
      if (!std::all_of(tuple->fields.begin(), tuple->fields.end(), leaf)) return nullptr;
    } else if (!leaf(arg)) {
      return nullptr;
    }
  }
  return call;
}

std::vector<Bound> operator_bounds(Context& context, const Call& call, std::span<const Value> args,
                                   const Value& want) {
  const op::OpDef& def = *op::callee(call);
  const std::vector<Tensor> results = passes::tensors_of(want);
  std::vector<Bound> out;
  if (def.tolerance.kind == op::Tolerance::Kind::kReduction) {
    std::vector<Type> types;
    for (const Value& v : args) types.push_back(op::type_of(context, v));
    const auto n = static_cast<double>(def.tolerance.length(types, call.attrs));
    const std::vector<Tensor> magnitudes = op::magnitudes(context, def, args, call.attrs, results);
    for (size_t i = 0; i < results.size(); ++i) {
      const double factor = 2 * (n + 2) * results[i].dtype().unit_roundoff();
      out.push_back([factor, m = magnitudes[i]](int64_t k) { return factor * std::fabs(m.get(k)); });
    }
    return out;
  }
  const double ulps = def.tolerance.kind == op::Tolerance::Kind::kUlps ? def.tolerance.ulps : 0;
  for (const Tensor& t : results) {
    out.push_back([ulps, t](int64_t k) { return ulps == 0 ? 0 : ulps * spacing(t.dtype(), t.get(k)); });
  }
  return out;
}

Value value_of_argument(Expr e, const Fn& fn, const std::vector<Value>& args) {
  if (const auto* c = e->as<Constant>()) return Value(*c->value);
  if (const auto* tuple = e->as<Tuple>()) {
    std::vector<Value> fields;
    for (Expr field : tuple->fields) fields.push_back(value_of_argument(field, fn, args));
    return Value::tuple(std::move(fields));
  }
  const auto it = std::find(fn.params.begin(), fn.params.end(), e->as<Var>());
  return args[static_cast<size_t>(it - fn.params.begin())];
}

}  // namespace

std::vector<Bound> bounds_for(const Module& m, std::string_view function, const std::vector<Value>& args,
                              const Value& want) {
  const Fn& fn = *m.function(function);
  if (const Call* call = only_call(fn)) {
    std::vector<Value> inner;
    for (Expr arg : call->args) inner.push_back(value_of_argument(arg, fn, args));
    return operator_bounds(m.context(), *call, inner, want);
  }
  const std::vector<Tensor> results = passes::tensors_of(want);
  std::vector<Bound> out;
  if (std::none_of(results.begin(), results.end(), [](const Tensor& t) { return t.dtype().is_float(); })) {
    out.assign(results.size(), [](int64_t) { return 0.0; });
    return out;
  }
  for (const passes::ErrorBound& b : passes::reference_of(m, function, args).bounds)
    out.push_back(b.at_every_element());
  return out;
}

}  // namespace relay::driver
