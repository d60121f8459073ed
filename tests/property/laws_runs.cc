// Laws about what passes do to a program, against the interpreter. laws_engines.cc has engines.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/cat.h"
#include "interp/machine.h"
#include "passes/lists.h"
#include "passes/map_types.h"
#include "passes/plan_memory.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/passed.h"
#include "tests/property/promises.h"
#include "tests/property/run.h"
#include "typecheck/check.h"

namespace relay::property {
namespace {

constexpr uint32_t kLevels = 4;  // of optimisation, from 0
std::string name_of_level(uint32_t level) { return cat("all of -O", level); }

// What the level runs.
std::vector<std::string> steps_at(uint32_t level, Tally& tally) {
  ++tally[name_of_level(level)];
  std::vector<std::string> out;
  for (const passes::Step& s : passes::default_pipeline(static_cast<int>(level)))
    out.push_back(passes::show(s));
  return out;
}

// With such parameters a pass works on small programs, too. `largest`: of the numbers on the way.
std::string eager(const std::string& step, double largest) {
  if (step == "block-channels") return "block-channels{winograd-cycles=1}";
  if (step == "split-args") return cat("split-args{most=", kMostArgs, "}");
  if (step == "change-batch") return "change-batch{to=3}";
  // No number saturates.
  if (step == "quantise-global" && largest < 0x1p20)
    return cat("quantise-global{scale=", int64_t{1} << std::max(0, std::ilogb(largest) + 1), "}");
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
  const auto want = std::make_shared<Expected>(*m, p.args, interpret(*m, p.args), p.smooth);
  const double largest = want->run().largest;
  count(want->run(), tally);
  for (const passes::Pass* pass : passes::all_passes()) {
    Passed alone(*m, p.args, want, tally);
    const std::string step = eager(std::string(pass->name), largest);
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
  Passed in_turn(*m, p.args, want, tally);
  for (const std::string& name : steps_at(2 + choices.below(kLevels - 2), tally)) {
    const Module before = in_turn.now();
    const std::string step = eager(name, largest);
    wrong = in_turn.run(step, small_vectors());
    if (wrong.empty() && !in_turn.refused()) wrong = broken_promise_of(step, before, in_turn.now());
    if (!wrong.empty()) return wrong;
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
    if (pass != &passes::kExpandGrad) out.push_back(compared_after(pass->name));
  }
  return out;
}

namespace {

// What lists of parameters may hold: of any two, one says something of most programs.
const std::map<std::string_view, std::vector<std::string>> kItems{
    {"wrt", {"1", "2", "x", "1+2"}},
    {"allow", {"nn.softmax", "exp+tanh", "sum+mean", "nn.layer_norm"}},
    {"follow", {"sigmoid", "nn.conv2d+nn.dense", "divide", "concatenate"}},
    {"deny", {"add", "multiply+maximum", "nn.relu", "nn.matmul"}},
};

// A pass of those that there are, some of its parameters, and what it is for. `wrong`: what this
// table lacks.
std::string random_step(ByteSource& choices, std::string& wrong) {
  const auto all = passes::all_passes();
  const passes::Pass& pass = *all[choices.below(static_cast<uint32_t>(all.size()))];
  static const std::vector<int64_t> kValues{0, 1, 2, 3, 8, 64, 1 << 20};
  std::string values;
  for (const passes::Parameter& q : pass.parameters) {
    if (choices.below(2) == 0) continue;
    values += cat(values.empty() ? "" : ",", q.name, "=");
    if (!passes::is_list(q)) {
      values += cat(std::clamp(choices.choose(kValues), q.least, q.most));
    } else if (const auto items = kItems.find(q.name); items != kItems.end()) {
      values += choices.choose(items->second);
    } else {
      wrong = cat("let kItems say what `", q.name, "` of the pass `", pass.name, "` may hold");
    }
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
    for (uint32_t n = 1 + choices.below(8); n-- > 0;) steps.push_back(random_step(choices, wrong));
    if (!wrong.empty()) return wrong;
  }
  const passes::RunnerOptions target = random_target(choices);
  const auto want = std::make_shared<Expected>(*m, p.args, interpret(*m, p.args), p.smooth);
  count(want->run(), tally);
  Passed passed(*m, p.args, want, tally);
  for (const std::string& step : steps) {
    if (wrong = passed.run(step, target); !wrong.empty()) return wrong;
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

}  // namespace relay::property
