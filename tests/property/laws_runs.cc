// Laws about results: passes and engines against the interpreter.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/cat.h"
#include "driver/engines.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "passes/lists.h"
#include "passes/map_types.h"
#include "passes/plan_memory.h"
#include "passes/reference.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/promises.h"
#include "tests/property/run.h"
#include "typecheck/check.h"

namespace relay::property {
namespace {

struct Ran {
  Result<Module> module;
  std::string wrong = {};
  bool refused = false;  // a pass says that it cannot do it, which is no mistake
};

Ran run_passes(const Module& m, const std::string& pipeline, passes::RunnerOptions options = {}) {
  Diagnostics diagnostics;
  options.verify = passes::Verify::kTypes;
  Ran out{passes::run_pipeline(m, pipeline, options, diagnostics)};
  if (out.module) return out;
  out.refused = diagnostics.fault() != Fault::kBug;
  out.wrong = cat(pipeline, ": ", diagnostics.render(m.context().sources()));
  return out;
}

constexpr uint32_t kLevels = 4;  // of optimisation, from 0
std::string name_of_level(uint32_t level) { return cat("all of -O", level); }

constexpr const char* kWinograd = "changed by Winograd's filtering";

// A function that was of one type and is generic now, as a text; empty if there is none. Whoever
// calls it from outside, and engines that compile, know it by its type.
std::string became_generic(const Module& before, const Module& after) {
  for (const auto& [name, fn] : before.functions()) {
    const Fn* now = after.function(name.text());
    if (!now || !fn->type->as<FnType>()->type_params.empty()) continue;
    if (!now->type->as<FnType>()->type_params.empty())
      return cat("@", name.text(), " became generic: ", show(now->type));
  }
  return {};
}

// A program on its way through passes.
class Passed {
 public:
  // `want`: what the program gives before.
  Passed(const Program& p, const Module& checked, const Run& want, Tally& tally)
      : program_(p), now_(checked), args_(p.args), want_(want), tally_(tally) {}

  const Module& now() const { return now_; }
  const std::string& so_far() const { return so_far_; }
  bool refused() const { return refused_; }

  // What is wrong after one pass more, with its parameters; empty if nothing is.
  std::string run(const std::string& step, const passes::RunnerOptions& options = {}) {
    const bool first = so_far_.empty();
    so_far_ += cat(first ? "" : ",", step);
    Ran next = run_passes(now_, step, options);
    if (!next.module) {
      // A shape that is not known before the program runs has no kernel.
      refused_ = next.refused;
      tally_["refused"] += refused_;
      return refused_ ? std::string()
                      : cat("after ", so_far_, ": ", next.wrong, "before it:\n", text_of(now_));
    }
    if (next.module->same(now_)) return {};
    if (const std::string generic = became_generic(now_, *next.module); !generic.empty())
      return cat("after ", so_far_, ": ", generic, "\n", text_of(*next.module), "before it:\n",
                 text_of(now_));
    const std::string name = step.substr(0, step.find('{'));
    ++tally_["changed by " + name];
    if (name == "block-channels" && text_of(*next.module).find("winograd") != std::string::npos)
      ++tally_[kWinograd];
    reorders_ = reorders_ || name == "lower" || name == "block-channels" || name == "pair-steps" ||
                name == "convert-layout";
    const bool widens = name == "widen-floats";
    if (first && !widens && alpha_equal(now_, *next.module))
      return cat(step, " changed nothing, but not the same pointers");
    const Module before = std::exchange(now_, *next.module);
    if (widens && !wide_) {
      wide_ = true;
      for (Value& v : args_) v = passes::widened(v, now_);
    }
    approximates_ = approximates_ || passes::find_pass(name)->approximates;
    if (approximates_ || ((reorders_ || wide_) && !comparable(program_, want_))) return {};
    const Run got = interpret(now_, args_);
    const std::string differs = difference(wide_ ? narrowed(got) : got, want_, slack(program_, want_));
    if (differs.empty()) return {};
    return cat("after ", so_far_, ": ", differs, "\n", text_of(now_), "before it:\n", text_of(before));
  }

 private:
  // Results where float32 has become float64.
  static Run narrowed(Run run) {
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

  const Program& program_;
  Module now_;
  std::vector<Value> args_;
  const Run& want_;
  Tally& tally_;
  std::string so_far_;
  bool refused_ = false, reorders_ = false, wide_ = false, approximates_ = false;
};

// What the level runs.
std::vector<std::string> steps_at(uint32_t level, Tally& tally) {
  ++tally[name_of_level(level)];
  std::vector<std::string> out;
  for (const passes::Step& s : passes::default_pipeline(static_cast<int>(level)))
    out.push_back(passes::show(s));
  return out;
}

// With such parameters a pass works on small programs, too.
std::string eager(const std::string& step) {
  if (step == "block-channels") return "block-channels{winograd-cycles=1}";
  if (step == "split-args") return cat("split-args{most=", kMostArgs, "}");
  if (step == "change-batch") return "change-batch{to=3}";
  return step == "pair-steps" ? "pair-steps{blocks=2,cores=0}" : step;
}

// The same with the program.
std::string broken_promise_of(const std::string& step, const Module& before, const Module& after) {
  const std::string broken = broken_promise(step.substr(0, step.find('{')), before, after);
  return broken.empty() ? broken : cat(broken, text_of(after));
}

// Vectors of a processor that has registers of 16 bytes: networks are small.
passes::RunnerOptions small_vectors() {
  passes::RunnerOptions out;
  out.target = target::target_of("sse2");
  return out;
}

// `rematerialise` has something to do where kernels are known and the limit is less than the plan
// takes. It may say that no order fits.
std::string broken_memory(Passed& lowered) {
  Diagnostics none;
  const Result<passes::Plan> plan = passes::plan_memory(lowered.now(), "main", none);
  if (!plan || plan->workspace_bytes == 0) return {};
  const uint64_t limit = plan->workspace_bytes - 1;
  std::string wrong = lowered.run(cat("rematerialise{limit=", limit, "}"), small_vectors());
  if (!wrong.empty() || lowered.refused()) return wrong;
  const uint64_t takes = passes::plan_memory(lowered.now(), "main", none)->workspace_bytes;
  return takes <= limit ? "" : cat("after ", lowered.so_far(), " the plan takes ", takes, " bytes");
}

}  // namespace

void count(const Run& want, Tally& tally) {
  ++tally[want.kind == Run::Kind::kValue  ? "values"
          : want.kind == Run::Kind::kTrap ? "traps"
                                          : "too many steps"];
  tally["exact"] += want.exact;
}

std::string broken_passes(const Program& p, ByteSource choices, Tally& tally) {
  std::string wrong;
  const Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Run want = interpret(*m, p.args);
  count(want, tally);
  for (const passes::Pass* pass : passes::all_passes()) {
    Passed alone(p, *m, want, tally);
    const std::string step = eager(std::string(pass->name));
    wrong = alone.run(step, small_vectors());
    if (wrong.empty() && !alone.refused()) wrong = broken_promise_of(step, *m, alone.now());
    // A second run may find more to do unless the pass says otherwise, but it must not go wrong.
    const Module once = alone.now();
    if (wrong.empty() && !alone.refused()) wrong = alone.run(step, small_vectors());
    if (wrong.empty() && settles(pass->name) && !alone.now().same(once))
      wrong = cat(pass->name, " finds more to do in its own result:\n", text_of(once));
    if (!wrong.empty()) return wrong;
  }
  // Some passes find nothing to do before others.
  Passed in_turn(p, *m, want, tally);
  for (const std::string& step : steps_at(2 + choices.below(kLevels - 2), tally)) {
    const Module before = in_turn.now();
    wrong = in_turn.run(eager(step), small_vectors());
    if (wrong.empty() && !in_turn.refused()) wrong = broken_promise_of(eager(step), before, in_turn.now());
    if (!wrong.empty() || in_turn.refused()) return wrong;
  }
  return broken_memory(in_turn);
}

std::vector<std::string> every_level() {
  std::vector<std::string> out;
  for (uint32_t level = 0; level < kLevels; ++level) out.push_back(name_of_level(level));
  return out;
}

std::vector<std::string> every_pass() {
  std::vector<std::string> out{kWinograd, name_of_level(2), name_of_level(3)};
  for (const passes::Pass* pass : passes::all_passes()) {
    // No program that is generated asks for a gradient: the law `gradients` makes those that do.
    if (pass != &passes::kExpandGrad) out.push_back(cat("changed by ", pass->name));
  }
  return out;
}

namespace {

// A pass of those that there are, some of its parameters, and what it is for.
std::string random_step(ByteSource& choices) {
  const auto all = passes::all_passes();
  const passes::Pass& pass = *all[choices.below(static_cast<uint32_t>(all.size()))];
  static const std::vector<int64_t> kValues{0, 1, 2, 3, 8, 64, 1 << 20};
  std::string values;
  for (const passes::Parameter& q : pass.parameters) {
    if (passes::is_list(q) || choices.below(2) == 0) continue;
    const int64_t value = std::clamp(choices.choose(kValues), q.least, q.most);
    values += cat(values.empty() ? "" : ",", q.name, "=", value);
  }
  return values.empty() ? std::string(pass.name) : cat(pass.name, "{", values, "}");
}

passes::RunnerOptions random_target(ByteSource& choices) {
  static const std::vector<std::string> kProcessors{"sse2", "avx2", "avx512", "avx2{l1=1K,l2=1K,l3=1K}",
                                                    "avx2{l1=1024G,l2=1024G,l3=1024G}"};
  passes::RunnerOptions out;
  out.schedule.opt_level = static_cast<int>(choices.below(kLevels));
  out.target = target::target_of(choices.choose(kProcessors));
  if (choices.below(4) == 3) out.target.gpu = target::target_of("cuda").gpu;
  return out;
}

}  // namespace

std::string broken_pipelines(const Program& p, ByteSource choices, Tally& tally) {
  std::string wrong;
  const Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  std::vector<std::string> steps;
  const uint32_t level = choices.below(2 * kLevels);
  if (level < kLevels) {
    steps = steps_at(level, tally);
  } else {
    for (uint32_t n = 1 + choices.below(8); n-- > 0;) steps.push_back(random_step(choices));
  }
  const passes::RunnerOptions target = random_target(choices);
  const Run want = interpret(*m, p.args);
  count(want, tally);
  Passed passed(p, *m, want, tally);
  for (const std::string& step : steps) {
    wrong = passed.run(step, target);
    if (!wrong.empty() || passed.refused()) return wrong;
  }
  // Kernels too are read back from their texts.
  const std::string text = text_of(passed.now());
  Result<Module> read = read_back(text, wrong);
  if (!read) return cat("after ", passed.so_far(), ", the printed text does not parse: ", wrong, text);
  if (!alpha_equal(passed.now(), *read))
    return cat("after ", passed.so_far(), ", the text means another program:\n", text);
  if (text_of(*read) != text)
    return cat("after ", passed.so_far(), ", printed, read and printed again:\n", text_of(*read));
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
  const Run want = result_of_engine(*m, p.args);
  count(want, tally);
  if (!comparable(p, want) || want.kind == Run::Kind::kExhausted) return {};
  const driver::Engine& engine = *driver::find_engine(name);
  driver::Options options;
  options.opt_level = static_cast<int>(choices.below(kLevels));
  const driver::Prepared prepared = engine.prepare(*m, "main", options);
  if (!prepared.run) {
    ++tally[cat("skipped: ", prepared.skipped)];
    return {};
  }
  const driver::Outcome got = prepared.run(p.args);
  const std::string differs = difference(got, want, slack(p, want));
  tally["agreed"] += differs.empty();
  return differs.empty() ? differs : cat(name, " at -O", options.opt_level, ": ", differs);
}

}  // namespace

std::string broken_jit(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("jit", p, choices, tally);
}

std::string broken_graph(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("graph", p, choices, tally);
}

std::string broken_artifact(const Program& p, ByteSource choices, Tally& tally) {
  return broken_engine("aot-cpp", p, choices, tally);
}

}  // namespace relay::property
