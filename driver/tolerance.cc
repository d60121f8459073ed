#include "driver/tolerance.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "interp/machine.h"
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

// Could flushing change this result of `+ - * / sqrt`, in a way that `change` does not measure? A
// processor may round to fewer bits before it decides that a result is denormal.
bool is_at_the_edge(double result, double least) { return result != 0 && std::fabs(result) <= least; }

// The bounds of an operator that may flush. `own` is what it gives where denormals are kept. What
// zeros in the place of denormal arguments change is measured, since no formula bounds it: a
// denormal may be divided by.
void add_floor(std::vector<Bound>& bounds, Context& context, const Call& call, std::span<const Value> args,
               const std::vector<Tensor>& own) {
  const op::OpDef& def = *op::callee(call);
  if (op::moves_bits(def)) return;
  std::vector<Tensor> zeros = own;
  try {
    zeros = passes::tensors_of(op::evaluate_flushed(context, def, args, call.attrs));
  } catch (const Trap&) {
    // It fails on zeros: an engine that flushes fails too, and has no result.
  }
  const double steps = flushed_steps(context, call, args);
  for (size_t i = 0; i < bounds.size(); ++i) {
    // Denormals decide the extents of the result.
    if (zeros[i].shape() != own[i].shape()) continue;
    if (own[i].dtype().is_float()) {
      const double least = smallest_normal(own[i].dtype());
      const bool is_exact = bounds[i].is_exact();
      bounds[i] = bounds[i].plus([k = own[i], z = zeros[i], least, steps, is_exact](int64_t e) {
        const double change = std::fabs(k.get(e) - z.get(e));
        const double floor = is_exact && change == 0 && !is_at_the_edge(k.get(e), least) ? 0 : steps * least;
        return floor + (std::isfinite(change) ? change : 0);
      });
    }
    bounds[i].allow(zeros[i]);
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

// Does float64 say what float32 should give? Of bits that have to be right it does not: a decision
// might fall elsewhere.
bool is_measured(const op::OpDef& def) { return def.tolerance.kind != op::Tolerance::Kind::kExact; }

// The result of the function in float64. Empty if it fails there.
std::vector<Tensor> in_float64(const Module& m, std::string_view function, const std::vector<Value>& args) {
  const Module wide = passes::widened(m);
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(passes::widened(v, wide));
  try {
    return passes::tensors_of(interp::Machine(wide).call(function, wide_args));
  } catch (const Trap&) {
    return {};
  }
}

// `own` in float64, with the numbers of `exact`.
Tensor middle_of(const Tensor& own, const Tensor& exact) {
  if (!own.dtype().is_float() || own.shape() != exact.shape()) return own;
  Tensor out = exact.converted(kFloat64).copy();
  for (int64_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(own.get(i)) || !std::isfinite(out.get(i))) out.set(i, own.get(i));
  }
  return out;
}

// Makes `out`, which is exact, what the operator has to give.
void make_wanted(Wanted& out, const Module& m, std::string_view function, const Call& call,
                 const std::vector<Value>& args, Denormals denormals) {
  const Fn& fn = *m.function(function);
  const op::OpDef& def = *op::callee(call);
  const std::vector<Tensor>& own = out.own;
  std::vector<Value> inner;
  for (Expr arg : call.args) inner.push_back(value_of_argument(arg, fn, args));
  out.bounds = op::bounds(m.context(), def, inner, call.attrs, own);
  if (denormals == Denormals::kFlush) add_floor(out.bounds, m.context(), call, inner, own);
  if (!is_measured(def)) return;
  const std::vector<Tensor> exact = in_float64(m, function, args);
  if (exact.size() != own.size()) return;
  for (size_t i = 0; i < own.size(); ++i) {
    out.middle[i] = middle_of(own[i], exact[i]);
    // Right to the bit is what float64 rounds to.
    if (out.bounds[i].is_exact()) out.middle[i] = out.middle[i].converted(own[i].dtype());
  }
}

}  // namespace

Wanted Wanted::exact(const Value& result) {
  Wanted out{.own = passes::tensors_of(result)};
  out.middle = out.own;
  out.bounds.assign(out.own.size(), Bound::exact());
  out.uncapped.resize(out.own.size());
  return out;
}

Comparison Wanted::compare(size_t i, const Tensor& got) const {
  if (got.dtype() != own[i].dtype()) return relay::compare(got, own[i], bounds[i]);  // which says so
  return passes::compare_unrounded(got, middle[i], bounds[i]);
}

Wanted wanted_of(const Module& m, std::string_view function, const std::vector<Value>& args,
                 const Value& result, Denormals denormals) {
  Wanted out = Wanted::exact(result);
  if (const Call* call = only_call(*m.function(function))) {
    make_wanted(out, m, function, *call, args, denormals);
    return out;
  }
  const auto is_float = [](const Tensor& t) { return t.dtype().is_float(); };
  if (std::none_of(out.own.begin(), out.own.end(), is_float)) return out;
  const passes::Reference reference = passes::reference_of(m, function, args, {}, denormals);
  for (size_t i = 0; i < out.own.size(); ++i) {
    out.middle[i] = middle_of(out.own[i], reference.exact[i]);
    out.bounds[i] = reference.bounds[i].at_every_element();
    out.uncapped[i] = reference.bounds[i].uncapped();
  }
  return out;
}

}  // namespace relay::driver
