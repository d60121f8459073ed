#include "tools/nonfinite.h"

#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "interp/machine.h"
#include "jit/operators.h"
#include "op/registry.h"
#include "passes/reference.h"
#include "tools/debug/program.h"

namespace relay::tools {
namespace {

NonFinite count_all(const Value& v) {
  NonFinite out;
  for (const Tensor& t : passes::tensors_of(v)) {
    const NonFinite one = count_nonfinite(t);
    out.nans += one.nans;
    out.infinities += one.infinities;
  }
  return out;
}

// Functions and cells are no results of operators.
bool holds_tensors_alone(const Value& v) {
  if (v.is_tensor()) return true;
  if (v.kind() != ValueKind::kTuple) return false;
  for (const Value& f : v.fields()) {
    if (!f.is_tensor()) return false;
  }
  return true;
}

// The calls that were the first to give each of the two.
struct First {
  Expr nan = nullptr, infinity = nullptr;
  NonFinite counted;  // in what the call of `nan` gave, or else that of `infinity`
};

// A call that ends the run: nothing after it matters.
struct Found {};

First first_calls(const Model& model, const std::vector<Value>& args) {
  First out;
  jit::Options compile;
  Diagnostics ignored;
  auto operators = jit::CompiledOperators::create(model.module, compile, ignored);
  interp::Options machine;
  if (operators) (*operators)->use_in(machine);
  machine.observe = [&](Expr e, const Value& v) {
    if (!e->as<Call>() || !holds_tensors_alone(v)) return;
    const NonFinite n = count_all(v);
    if (n.infinities > 0 && !out.infinity) {
      out.infinity = e;
      out.counted = n;
    }
    if (n.nans == 0) return;
    out.nan = e;
    out.counted = n;
    throw Found();
  };
  try {
    interp::Machine(model.module, machine).call(model.function, args);
  } catch (const Found&) {
  }
  return out;
}

}  // namespace

void trap_nan(Expr e, const Value& v) {
  if (!e->as<Call>() || !holds_tensors_alone(v)) return;
  if (const NonFinite n = count_all(v); n.nans > 0) {
    const op::OpDef* def = op::callee(e);
    throw Trap(cat(def ? cat("`", def->name, "`") : std::string("a call"), " gives ", n.text()), e->span);
  }
}

std::string NonFinite::text() const {
  const std::string nan = cat(nans, " NaN"),
                    inf = cat(infinities, infinities == 1 ? " infinity" : " infinities");
  return nans == 0 ? inf : infinities == 0 ? nan : cat(nan, " and ", inf);
}

NonFinite count_nonfinite(const Tensor& t) {
  NonFinite out;
  if (!t.dtype().is_float()) return out;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = t.get(i);
    out.nans += std::isnan(v);
    out.infinities += std::isinf(v);
  }
  return out;
}

std::string origin_of_nonfinite(const Model& model, const std::vector<Value>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (const NonFinite n = count_all(args[i]); n.any())
      return cat("the input `", model.input_names[i], "` has ", n.text(), "\n");
  }
  const First first = first_calls(model, args);
  const debug::Program program(model.module, model.is_listed);
  if (!first.nan && !first.infinity) return {};
  const Expr at = first.nan ? first.nan : first.infinity;
  const auto place = [&](Expr e) {
    const std::string known = program.sources().place(e->span);
    return cat(program.describe(e), known.empty() ? "" : cat(" at ", known), "\n", program.source(e));
  };
  std::string out = cat("the first ", first.nan ? "NaN" : "infinity", " comes from ", place(at));
  if (first.nan && first.infinity && first.infinity != first.nan)
    out += cat("before it, the first infinity comes from ", place(first.infinity));
  return out;
}

}  // namespace relay::tools
