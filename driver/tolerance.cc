#include "driver/tolerance.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "op/apply.h"
#include "op/bounds.h"
#include "op/denormals.h"
#include "op/registry.h"
#include "passes/reference.h"
#include "runtime/flushed.h"

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

// How many results on the way to one element may be flushed, each of which is off by less than the
// smallest normal number.
double flushed_steps(Context& context, const Call& call, std::span<const Value> args) {
  const op::Tolerance& tolerance = op::callee(call)->tolerance;
  // The result of one operation, of a few that make a function, or products and sums.
  if (tolerance.kind == op::Tolerance::Kind::kExact) return 0;
  if (tolerance.kind == op::Tolerance::Kind::kUlps) return std::max(2.0, tolerance.ulps);
  std::vector<Type> types;
  for (const Value& v : args) types.push_back(op::type_of(context, v));
  return 2 * (static_cast<double>(tolerance.length(types, call.attrs)) + 2);
}

// The bounds of an operator that may flush. `want` is what it gives where denormals are kept. What
// zeros in the place of denormal arguments change is measured, since no formula bounds it: a
// denormal may be divided by.
void add_floor(std::vector<Bound>& bounds, Context& context, const Call& call, std::span<const Value> args,
               const Value& want) {
  const op::OpDef& def = *op::callee(call);
  if (op::moves_bits(def)) return;
  const std::vector<Tensor> kept = passes::tensors_of(want);
  std::vector<Tensor> zeros = kept;
  try {
    zeros = passes::tensors_of(op::evaluate_flushed(context, def, args, call.attrs));
  } catch (const Trap&) {
    // It fails on zeros: an engine that flushes fails too, and has no result.
  }
  const double steps = flushed_steps(context, call, args);
  for (size_t i = 0; i < bounds.size(); ++i) {
    // Denormals decide the extents of the result.
    if (zeros[i].shape() != kept[i].shape()) continue;
    const double least = smallest_normal(kept[i].dtype());
    const bool is_float = kept[i].dtype().is_float();
    Bound with_floor = [own = bounds[i], k = kept[i], z = zeros[i], least, steps, is_float](int64_t e) {
      if (!is_float) return own(e);
      const double change = std::fabs(k.get(e) - z.get(e));
      return own(e) + steps * least + (std::isfinite(change) ? change : 0);
    };
    with_floor.allow(zeros[i]);
    bounds[i] = std::move(with_floor);
  }
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
                              const Value& want, Denormals denormals) {
  const Fn& fn = *m.function(function);
  if (const Call* call = only_call(fn)) {
    std::vector<Value> inner;
    for (Expr arg : call->args) inner.push_back(value_of_argument(arg, fn, args));
    std::vector<Bound> out =
        op::bounds(m.context(), *op::callee(*call), inner, call->attrs, passes::tensors_of(want));
    if (denormals == Denormals::kFlush) add_floor(out, m.context(), *call, inner, want);
    return out;
  }
  const std::vector<Tensor> results = passes::tensors_of(want);
  std::vector<Bound> out;
  if (std::none_of(results.begin(), results.end(), [](const Tensor& t) { return t.dtype().is_float(); })) {
    out.assign(results.size(), [](int64_t) { return 0.0; });
    return out;
  }
  for (const passes::ErrorBound& b : passes::reference_of(m, function, args, {}, denormals).bounds)
    out.push_back(b.at_every_element());
  return out;
}

}  // namespace relay::driver
