#include "tools/nonfinite.h"

#include "base/cat.h"
#include "driver/nonfinite.h"
#include "interp/machine.h"
#include "jit/operators.h"
#include "tools/debug/program.h"

namespace relay::tools {
namespace {

// The calls that were the first to give each of the two.
struct First {
  Expr nan = nullptr, infinity = nullptr;
  driver::NonFinite counted;  // in what the call of `nan` gave, or else that of `infinity`
};

// A call that ends the run: nothing after it matters.
struct Found {};

First first_calls(const driver::Model& model, const std::vector<Value>& args, Denormals denormals) {
  First out;
  jit::Options compile;
  compile.denormals = denormals;
  Diagnostics ignored;
  auto operators = jit::CompiledOperators::create(model.module, compile, ignored);
  interp::Options machine;
  if (operators) (*operators)->use_in(machine);
  machine.observe = [&](Expr e, const Value& v) {
    if (!e->as<Call>() || !driver::holds_tensors_alone(v)) return;
    const driver::NonFinite n = driver::count_all(v);
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

std::string origin_of_nonfinite(const driver::Model& model, const std::vector<Value>& args,
                                Denormals denormals) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (const driver::NonFinite n = driver::count_all(args[i]); n.any())
      return cat("the input `", model.input_names[i], "` has ", n.text(), "\n");
  }
  const First first = first_calls(model, args, denormals);
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
