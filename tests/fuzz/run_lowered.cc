// Programs are optimised and lowered, and their kernels run on the reference executor, which checks each access.
#include <new>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/rewrite.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "tests/fuzz/run_program.h"
#include "typecheck/check.h"

namespace relay::fuzz {
namespace {

using Kind = Outcome::Kind;

struct Ended {
  Kind kind = Kind::kAccepted;
  std::string message = {};
};

Ended run(const Module& m, const RunnableCall& call, std::string_view function) {
  try {
    interp::Machine(m, run_limits()).call(function, call.args);
    return {};
  } catch (const Trap& trap) {
    return {Kind::kTrapped, trap.what()};
  } catch (const Exhausted& limit) {
    return {Kind::kExhausted, limit.what()};
  } catch (const std::bad_alloc&) {
    return {Kind::kExhausted, "memory is short"};
  }
}

std::string_view name(Kind kind) { return kind == Kind::kTrapped ? "a trap" : "a value"; }

// The outcome of the lowered function, which must be the one that it had before.
Outcome lower_and_run(const Module& m, const RunnableCall& call, int level) {
  const Ended want = run(m, call, call.function);
  if (want.kind == Kind::kExhausted) return {Kind::kExhausted};
  Module alone = m;
  if (call.function != "main") {
    alone.set_function("main", refresh(m.context(), m.function(call.function))->as<Fn>());
  }
  Diagnostics diagnostics;
  passes::RunnerOptions options;
  options.target.opt_level = level;
  const Result<Module> lowered =
      passes::run_pipeline(alone, passes::default_pipeline(level), options, diagnostics);
  if (!lowered) {
    for (const Diagnostic& d : diagnostics.all()) {
      if (d.slug().starts_with("pass-")) return {Kind::kWrong, cat(d.slug(), ": ", d.message())};
    }
    return {Kind::kNotRun};
  }
  const Ended got = run(*lowered, call, "main");
  if (got.kind == Kind::kExhausted) return {Kind::kExhausted};
  if (got.kind != want.kind) {
    return {Kind::kWrong, cat(name(got.kind), " instead of ", name(want.kind), " at -O", level, ": @",
                              call.function, ": ", got.message, want.message)};
  }
  return {got.kind};
}

}  // namespace

Outcome run_lowered(std::string_view bytes) {
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> m = parse("fuzz.relay", std::string(bytes), diagnostics, op::operators(), options);
  if (!m) return judge(false, diagnostics, options.into.context().sources());
  const Result<Module> checked = typecheck::check(*m, diagnostics);
  Outcome out = judge(checked.ok(), diagnostics, m->context().sources());
  if (out.kind != Kind::kAccepted) return out;
  out = {Kind::kNotRun};
  const uint64_t seed = hash_of(bytes);
  for (const RunnableCall& call : runnable_calls(*checked, seed)) {
    // A module has one @main: the function takes its place, unless others may call it.
    if (checked->function("main") && call.function != "main") continue;
    const Outcome one = lower_and_run(*checked, call, seed % 2 == 0 ? 0 : 2);
    if (one.kind == Kind::kWrong) return one;
    if (one.kind != Kind::kNotRun) out = one;
  }
  return out;
}

}  // namespace relay::fuzz
