// Laws about results: passes and engines against the interpreter.
#include <map>
#include <unordered_map>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "passes/map_types.h"
#include "passes/reference.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"
#include "tools/engines.h"
#include "typecheck/check.h"

namespace relay::property {
namespace {

Result<Module> run_passes(const Module& m, const std::string& pipeline, std::string& wrong, bool& refused) {
  Diagnostics diagnostics;
  passes::RunnerOptions options;
  options.verify = passes::Verify::kTypes;
  Result<Module> out = passes::run_pipeline(m, pipeline, options, diagnostics);
  if (out) return out;
  refused = !diagnostics.all().empty() && diagnostics.all().front().slug() == "cannot-lower";
  wrong = cat(pipeline, ": ", diagnostics.render(m.context().sources()));
  return out;
}

bool changes_order(const std::string& pipeline) { return pipeline.find("lower") != std::string::npos; }

void count(const Run& want, Tally& tally) {
  ++tally[want.kind == Run::Kind::kValue  ? "values"
          : want.kind == Run::Kind::kTrap ? "traps"
                                          : "too many steps"];
  tally["exact"] += want.exact;
}

// Arguments and results where float32 has become float64.
Run narrowed(Run run) {
  const auto narrow = [](auto& self, const Value& v) -> Value {
    if (v.is_tensor()) return v.tensor().dtype() == kFloat64 ? Value(v.tensor().converted(kFloat32)) : v;
    if (v.kind() != ValueKind::kTuple && v.kind() != ValueKind::kData) return v;
    std::vector<Value> fields;
    for (const Value& f : v.fields()) fields.push_back(self(self, f));
    return v.kind() == ValueKind::kTuple ? Value::tuple(std::move(fields))
                                         : Value::data(v.code(), std::move(fields));
  };
  if (run.kind == Run::Kind::kValue) run.value = narrow(narrow, run.value);
  return run;
}

}  // namespace

std::string broken_passes(const Program& p, ByteSource, Tally& tally) {
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Run want = interpret(*m, p.args);
  count(want, tally);
  for (const passes::Pass* pass : passes::all_passes()) {
    const std::string name(pass->name);
    bool refused = false;
    Result<Module> out = run_passes(*m, name, wrong, refused);
    if (!out) return wrong;
    if (!out->same(*m)) {
      ++tally["changed by " + name];
      if (pass->name != "widen-floats" && alpha_equal(*m, *out))
        return cat(name, " changed nothing, but not the same pointers");
    }
    const bool widens = pass->name == "widen-floats";
    if (widens && !want.exact) continue;
    std::vector<Value> args;
    for (const Value& v : p.args) args.push_back(widens ? passes::widened(v, *out) : v);
    const Run got = interpret(*out, args);
    const std::string differs = difference(widens ? narrowed(got) : got, want);
    if (!differs.empty()) return cat("after ", name, ": ", differs, "\n", text_of(*out));
    Result<Module> twice = run_passes(*out, name, wrong, refused);
    if (!twice) return cat("a second time, ", wrong);
    // A second run may find more to do, but it must not go wrong.
    if (const std::string second =
            difference(widens ? narrowed(interpret(*twice, args)) : interpret(*twice, args), want);
        !second.empty()) {
      return cat("after ", name, " twice: ", second, "\n", text_of(*twice));
    }
  }
  return {};
}

std::string broken_pipelines(const Program& p, ByteSource choices, Tally& tally) {
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Run want = interpret(*m, p.args);
  count(want, tally);
  std::vector<std::string> steps;
  if (const uint32_t level = choices.below(5); level < 3) {
    std::string all = passes::default_pipeline(static_cast<int>(level));
    for (size_t at; (at = all.find(',')) != std::string::npos; all.erase(0, at + 1))
      steps.push_back(all.substr(0, at));
    steps.push_back(all);
  } else {
    static const std::vector<std::string> kSteps{
        "fuse",      "fold-constants",     "lower",           "expand-operators",
        "dead-code", "simplify-inference", "fuse{max-ops=2}", "fold-constants{max-bytes=8}"};
    for (uint32_t n = 1 + choices.below(6); n-- > 0;) steps.push_back(choices.choose(kSteps));
  }
  Module now = *m;
  std::string so_far;
  for (const std::string& step : steps) {
    so_far += cat(so_far.empty() ? "" : ",", step);
    bool refused = false;
    Result<Module> next = run_passes(now, step, wrong, refused);
    if (!next) {
      // A shape that is not known before the program runs has no kernel.
      if (refused) ++tally["refused"];
      return refused ? std::string() : cat("after ", so_far, ": ", wrong, "before it:\n", text_of(now));
    }
    if (next->same(now)) continue;
    if (changes_order(so_far) && !want.exact) return {};
    const std::string differs = difference(interpret(*next, p.args), want);
    if (!differs.empty())
      return cat("after ", so_far, ": ", differs, "\n", text_of(*next), "before it:\n", text_of(now));
    now = *next;
  }
  // Kernels too are read back from their texts.
  const std::string text = text_of(now);
  Result<Module> read = read_back(text, wrong);
  if (!read) return cat("after ", so_far, ", the printed text does not parse: ", wrong, text);
  if (!alpha_equal(now, *read)) return cat("after ", so_far, ", the text means another program:\n", text);
  if (text_of(*read) != text)
    return cat("after ", so_far, ", printed, read and printed again:\n", text_of(*read));
  return {};
}

// The extents of @main's arguments put in the place of its shape variables.
std::string broken_extents(const Program& p, ByteSource, Tally& tally) {
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  std::unordered_map<const kernel::ExprNode*, int64_t> variables;
  const Fn& fn = *m->function("main");
  std::vector<Type> types;
  for (const Var* x : fn.params) types.push_back(x->type);
  interp::check_shapes(p.args, types, variables, Span::none());
  if (variables.empty()) return {};
  ++tally["with shape variables"];
  std::map<std::string, int64_t> values;
  for (const auto& [variable, value] : variables) values[variable->name.str()] = value;
  Result<Module> bound = checked(passes::bind_shape_variables(*m, "main", values), wrong);
  // What is compared when the program runs is known to differ now.
  Diagnostics diagnostics;
  if (!bound && !typecheck::infer(*m, diagnostics)->checks.empty()) return {};
  if (!bound) return cat("with its extents, ", wrong);
  const std::string differs = difference(interpret(*bound, p.args), interpret(*m, p.args));
  return differs.empty() ? differs : cat("with its extents: ", differs, "\n", text_of(*bound));
}

namespace {

std::string broken_engine(std::string_view name, const Program& p, ByteSource& choices, Tally& tally) {
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Run want = interpret(*m, p.args);
  count(want, tally);
  if (!want.exact || want.kind == Run::Kind::kExhausted) return {};
  const tools::Engine& engine = *tools::find_engine(name);
  tools::EngineOptions options;
  options.opt_level = static_cast<int>(choices.below(4));
  const tools::Prepared prepared = engine.prepare(*m, "main", options);
  if (!prepared.run) {
    ++tally[cat("skipped: ", prepared.skipped)];
    return {};
  }
  const tools::Outcome got = prepared.run(p.args);
  Run run;
  run.value = got.value;
  run.message = got.message;
  if (got.kind == tools::Outcome::Kind::kTrap) run.kind = Run::Kind::kTrap;
  if (got.kind == tools::Outcome::Kind::kExhausted)
    return "the engine says that a limit was reached: " + got.message;
  ++tally["agreed"];
  const std::string differs = difference(run, want);
  return differs.empty() ? differs : cat(name, " at -O", options.opt_level, ": ", differs);
}

}  // namespace

std::string broken_jit(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("jit", p, choices, tally);
}

std::string broken_graph(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("graph", p, choices, tally);
}

std::string broken_aot(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("aot-cpp", p, choices, tally);
}

std::string broken_cuda(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("aot-cuda", p, choices, tally);
}

}  // namespace relay::property
