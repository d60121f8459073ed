#include "tools/tolerance.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "interp/machine.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/runner.h"

namespace relay::tools {
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
  const std::vector<Tensor> results = tensors_of(want);
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

std::vector<Tensor> tensors_of(const Value& v) {
  std::vector<Tensor> out;
  std::vector<const Value*> pending{&v};
  size_t parts = 0;
  while (!pending.empty()) {
    const Value* x = pending.back();
    pending.pop_back();
    if (++parts > kMostParts) {
      throw Exhausted(
          cat("the result has more than ", kMostParts,
              " parts, counting what is shared each time: that is more than is shown or written"));
    }
    if (x->is_tensor()) {
      out.push_back(x->tensor());
      continue;
    }
    if (x->kind() == ValueKind::kClosure || x->kind() == ValueKind::kCallable) continue;
    for (size_t i = x->fields().size(); i-- > 0;) pending.push_back(&x->fields()[i]);
  }
  return out;
}

Bound network_bound(const Tensor& reference, const Tensor& unoptimised) {
  const double u = unoptimised.dtype().unit_roundoff();
  double error = 0, magnitude = 0;
  for (int64_t i = 0; i < reference.size(); ++i) {
    const double want = reference.get(i), got = unoptimised.get(i);
    if (!std::isfinite(want) || !std::isfinite(got)) continue;
    error = std::max(error, std::fabs(got - want));
    magnitude = std::max(magnitude, std::fabs(want));
  }
  const double bound = 4 * std::max(error, u * magnitude);
  return [bound](int64_t) { return bound; };
}

Module widened(const Module& m) {
  Diagnostics ignored;
  Result<Module> wide = passes::run_pipeline(m, "widen-floats", {}, ignored);
  CHECK(wide.ok(), "a well-typed program must stay so in float64");
  return *wide;
}

Value widened(const Value& v, const Module& wide) {
  struct Open {  // whose fields are being widened
    Value value;
    std::vector<Value> fields = {};
  };
  const auto has_parts = [](const Value& x) {
    return x.kind() == ValueKind::kTuple || x.kind() == ValueKind::kData;
  };
  const auto leaf = [](const Value& x) {
    return x.is_tensor() && x.tensor().dtype() == kFloat32 ? Value(x.tensor().converted(kFloat64)) : x;
  };
  if (!has_parts(v)) return leaf(v);
  std::vector<Open> open{{v}};  // a list is as deep as it is long
  while (true) {
    Open& top = open.back();
    if (top.fields.size() < top.value.fields().size()) {
      const Value next = top.value.fields()[top.fields.size()];
      if (has_parts(next)) {
        open.push_back({next});
      } else {
        top.fields.push_back(leaf(next));
      }
      continue;
    }
    Value done =
        top.value.kind() == ValueKind::kTuple
            ? Value::tuple(std::move(top.fields))
            : Value::data(wide.constructor(static_cast<const Constructor*>(top.value.code())->name.text()),
                          std::move(top.fields));
    open.pop_back();
    if (open.empty()) return done;
    open.back().fields.push_back(std::move(done));
  }
}

std::vector<Bound> bounds_for(const Module& m, std::string_view function, const std::vector<Value>& args,
                              const Value& want,
                              const std::function<Outcome(const std::vector<Value>&)>& unoptimised) {
  const Fn& fn = *m.function(function);
  if (const Call* call = only_call(fn)) {
    std::vector<Value> inner;
    for (Expr arg : call->args) inner.push_back(value_of_argument(arg, fn, args));
    return operator_bounds(m.context(), *call, inner, want);
  }
  const std::vector<Tensor> exact = tensors_of(want);
  const bool floats =
      std::any_of(exact.begin(), exact.end(), [](const Tensor& t) { return t.dtype().is_float(); });
  if (!floats) return std::vector<Bound>(exact.size(), [](int64_t) { return 0.0; });
  const Outcome run = unoptimised(args);
  const std::vector<Tensor> got = run.kind == Outcome::Kind::kValue ? tensors_of(run.value) : exact;
  const Module wide = widened(m);
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(widened(v, wide));
  const std::vector<Tensor> reference = tensors_of(interp::Machine(wide).call(function, wide_args));
  std::vector<Bound> out;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!got[i].dtype().is_float() || i >= reference.size() || reference[i].size() != got[i].size()) {
      out.push_back([](int64_t) { return 0.0; });
    } else {
      out.push_back(network_bound(reference[i], got[i]));
    }
  }
  return out;
}

}  // namespace relay::tools
