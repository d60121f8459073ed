// Mutated programs on engines that compile: `bazel run //tests/fuzz:engines -- --seconds 60`. What
// the interpreter gives, they give; where it traps, they trap. Floats are not compared: that is
// what tests/exec and tests/property do.
#include <algorithm>
#include <vector>

#include "base/cat.h"
#include "base/failure.h"
#include "base/hash.h"
#include "driver/engines.h"
#include "driver/results.h"
#include "driver/tolerance.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/expand_grad.h"
#include "passes/reference.h"
#include "tests/fuzz/command.h"
#include "tests/fuzz/run_program.h"

namespace relay::fuzz {
namespace {

using Kind = driver::Outcome::Kind;

std::string_view name(Kind kind) {
  return kind == Kind::kValue ? "a value" : kind == Kind::kTrap ? "a trap" : "a limit";
}

// How two values differ in what is exact; empty if they do not.
std::string difference(const Value& got, const Value& want) {
  const std::vector<Tensor> a = passes::tensors_of(got), b = passes::tensors_of(want);
  if (a.size() != b.size()) return "a different number of tensors";
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || a[i].shape() != b[i].shape() ||
        (!a[i].dtype().is_float() && !identical(a[i], b[i])))
      return cat(show(a[i]), " instead of ", show(b[i]));
  }
  return {};
}

template <int kLevel>
Outcome run_on_jit(std::string_view bytes) {
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("fuzz.relay", std::string(bytes), diagnostics, op::operators(), options);
  if (!m) return judge(false, diagnostics, options.into.context().sources());
  const Result<Module> checked = passes::checked(*m, diagnostics);
  Outcome out = judge(checked.ok(), diagnostics, m->context().sources());
  if (out.kind != Outcome::Kind::kAccepted) return out;
  out.kind = Outcome::Kind::kNotRun;
  for (const RunnableCall& call : runnable_calls(*checked, hash_text(bytes))) {
    const driver::Outcome want = driver::outcome_of([&] {
      Value result = interp::Machine(*checked, run_limits()).call(call.function, call.args);
      driver::compare_result(*checked, call.function, call.args, result);
      return result;
    });
    if (want.kind == Kind::kExhausted) return {Outcome::Kind::kExhausted};
    driver::Prepared engine;
    try {
      // Arguments have denormals, and comparisons of them are results.
      engine = driver::find_engine("jit")->prepare(*checked, call.function,
                                                   {.opt_level = kLevel, .denormals = Denormals::kKeep});
    } catch (const driver::CannotPrepare&) {  // a diagnostic: the stack holds no buffer of an open extent
      continue;
    }
    if (!engine.run) continue;
    const driver::Outcome got = engine.run(call.args);
    if (got.kind == Kind::kExhausted) return {Outcome::Kind::kExhausted};
    if (got.kind != want.kind) {
      return {Outcome::Kind::kWrong, cat(name(got.kind), " instead of ", name(want.kind), ": @",
                                         call.function, ": ", got.message, want.message)};
    }
    if (got.kind == Kind::kTrap && reason_of(got.message) != reason_of(want.message)) {
      return {Outcome::Kind::kWrong,
              cat("another trap: @", call.function, ": ", got.message, " instead of ", want.message)};
    }
    if (got.kind == Kind::kValue) {
      if (std::string differs = difference(got.value, want.value); !differs.empty())
        return {Outcome::Kind::kWrong, cat("another value: @", call.function, ": ", differs)};
    }
    out.kind = got.kind == Kind::kValue ? Outcome::Kind::kAccepted : Outcome::Kind::kTrapped;
  }
  return out;
}

}  // namespace
}  // namespace relay::fuzz

int main(int argc, char** argv) {
  using namespace relay::fuzz;
  const InputLimits limits{.memory_mib = 2048, .cpu_seconds = 10};  // compiling takes more than running
  const std::vector<Reader> engines{{"jit-O0", function_seeds, mutate_program, run_on_jit<0>, false, limits},
                                    {"jit-O2", function_seeds, mutate_program, run_on_jit<2>, false, limits}};
  return fuzz_command(argc, argv, engines);
}
