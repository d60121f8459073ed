#include "passes/runner.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <unordered_map>

#include "base/cat.h"
#include "base/nearest.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/traverse.h"
#include "kernel/validate.h"
#include "passes/behind_lets.h"
#include "passes/reference.h"
#include "passes/sample_inputs.h"
#include "runtime/compare.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// The answer of @main before any pass, or after the last one that approximates.
struct Answer {
  Value value;
  Reference reference;  // what later answers are compared with
};

// Is `now` the same answer? It has the same structure, and its tensors are within the bounds of any
// engine. If not, `why` says so.
bool agree(const Value& now, const Answer& answer, std::string& why) {
  std::vector<std::pair<const Value*, const Value*>> pending{{&now, &answer.value}};
  while (!pending.empty()) {
    auto [x, y] = pending.back();
    pending.pop_back();
    if (x->kind() != y->kind()) {
      why = "the answers are of different kinds";
      return false;
    }
    if (x->kind() != ValueKind::kTuple && x->kind() != ValueKind::kData) continue;
    if (x->code() != y->code() || x->fields().size() != y->fields().size()) {
      why = "the answers have different constructors";
      return false;
    }
    for (size_t i = 0; i < x->fields().size(); ++i) pending.emplace_back(&x->fields()[i], &y->fields()[i]);
  }
  const std::vector<Tensor> got = tensors_of(now);
  for (size_t i = 0; i < got.size(); ++i) {
    const Comparison c = answer.reference.compare(i, got[i]);
    if (c.ok) continue;
    why = show(c, got[i].shape());
    return false;
  }
  return true;
}

constexpr size_t kLargeBytes = size_t{16} << 20;

// The memory of constants in the module's context that the module does not mention.
size_t unused_bytes(const Module& m) {
  std::unordered_map<const void*, size_t> all;  // by where the elements are
  size_t bytes = 0;
  for (const Tensor& t : m.context().tensors()) bytes += (all[t.data()] = t.bytes());
  if (bytes < kLargeBytes) return 0;
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  for (Expr e : post_order(roots)) {
    if (const auto* c = e->as<Constant>()) all.erase(c->value->data());
  }
  size_t unused = 0;
  for (const auto& [data, size] : all) unused += size;
  return unused;
}

class Runner {
 public:
  Runner(const RunnerOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics), inputs_(options.sample_inputs) {}

  Result<Module> run(Module now, const Pipeline& steps) {
    Result<Module> checked = typecheck::check(now, diagnostics_);
    if (!checked) return kReported;
    now = std::move(*checked);
    checked = kReported;
    std::optional<Answer> answer;
    if (options_.verify == Verify::kSemantics) answer = first_answer(now);
    if (!tell([&](Observer& o) { o.begins(steps, now, diagnostics_); })) return kReported;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Activity activity("pass", steps[i].pass->name);
      Times times;
      std::optional<Module> next = run_one(now, steps[i], times);
      if (!next || !verify(*next, steps[i], answer)) {
        const Pipeline rest(steps.begin() + static_cast<std::ptrdiff_t>(i), steps.end());
        for (Observer* o : options_.observers) o->failed(rest, now, diagnostics_);
        return kReported;
      }
      const StepReport report{steps, i + 1, now, *next, times.pass, times.check, rules_};
      if (!tell([&](Observer& o) { o.ran(report, diagnostics_); })) return kReported;
      const bool changed = !next->same(now);
      now = std::move(*next);
      next.reset();
      if (changed) free_constants(now);
    }
    for (Observer* o : options_.observers) o->ended();
    return now;
  }

 private:
  struct Times {  // milliseconds of a step, and of the type check that follows it
    double pass = 0, check = 0;
  };

  // False if one of them has reported an error.
  bool tell(const std::function<void(Observer&)>& what) {
    const size_t errors = diagnostics_.errors();
    for (Observer* o : options_.observers) what(*o);
    return diagnostics_.errors() == errors;
  }

  // Frees the constants that the last pass replaced, if they are large and only `m` is in their
  // context. An answer that is kept to compare may hold functions of the context.
  void free_constants(Module& m) {
    if (options_.verify == Verify::kSemantics) return;
    if (m.shared_context().use_count() > 1 || unused_bytes(m) < kLargeBytes) return;
    m = compact(m);
    valid_.clear();
#ifdef __GLIBC__
    malloc_trim(0);  // else blocks between others stay with the process, too small for new weights
#endif
  }

  std::optional<Module> run_one(const Module& m, const Step& step, Times& times) {
    const size_t errors = diagnostics_.errors();
    rules_.clear();
    const auto begin = std::chrono::steady_clock::now();
    PassContext context{diagnostics_, step.values, options_.target, options_.schedule, on_kernel_, on_rule_};
    if (options_.on_reason)
      context.on_reason = [&](std::string_view reason) { options_.on_reason(*step.pass, reason); };
    Module next = step.pass->run(m, context);
    const auto middle = std::chrono::steady_clock::now();
    if (diagnostics_.errors() > errors) return std::nullopt;
    // What did not change was checked.
    Result<Module> checked = next.same(m) ? Result<Module>(next) : typecheck::check(next, diagnostics_);
    const auto end = std::chrono::steady_clock::now();
    const auto ms = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
    times = {ms(middle - begin), ms(end - middle)};
    if (next.same(m)) tell_of_lets(m, *step.pass, context);
    if (!checked) {
      diagnostics_.error(Span::none(), "pass-broke-types",
                         cat("after pass `", step.pass->name,
                             "` the module does not type check: this is a bug of the pass"));
      return std::nullopt;
    }
    return *checked;
  }

  // `answer` is the one to compare with, and becomes another after a pass that approximates.
  bool verify(const Module& m, const Step& step, std::optional<Answer>& answer) {
    if (options_.verify == Verify::kNone) return true;
    std::vector<std::string> problems = well_formed(m);
    if (problems.empty()) problems = broken_kernels(m);
    if (!problems.empty()) {
      diagnostics_.error(Span::none(), "pass-broke-module",
                         cat("after pass `", step.pass->name, "` the module is not well formed: ",
                             problems[0], ": this is a bug of the pass"));
      return false;
    }
    if (!answer) return true;
    if (!inputs_fit(m, *step.pass)) return false;
    if (step.pass->approximates) {
      answer = first_answer(m);
      if (answer) return true;
      diagnostics_.error(
          Span::none(), "pass-changed-answer",
          cat("after pass `", step.pass->name, "` @main fails when it runs: this is a bug of the pass"));
      return false;
    }
    const std::optional<Value> now = interpret(m);
    std::string why;
    if (!now) why = "it fails when it runs";
    if (now && agree(*now, *answer, why)) return true;
    diagnostics_.error(Span::none(), "pass-changed-answer",
                       cat("pass `", step.pass->name, "` changed the answer of @main: ", why,
                           ": this is a bug of the pass"));
    return false;
  }

  // Do the inputs fit @main after the pass? A pass that approximates may change what @main takes:
  // it and later ones get inputs that fit. After any other pass they must fit as they are.
  bool inputs_fit(const Module& m, const Pass& pass) {
    const Fn* fn = m.function("main");
    if (!fn || takes(*fn, inputs_)) return true;
    std::optional<std::vector<Value>> fitted;
    if (pass.approximates) fitted = fitted_inputs(*fn, inputs_);
    if (fitted) {
      inputs_ = std::move(*fitted);
      return true;
    }
    diagnostics_.error(Span::none(), "pass-changed-answer",
                       cat("after pass `", pass.name, "` @main takes `", relay::show(fn->type),
                           "`, and the inputs before it do not fit: this is a bug of the pass"));
    return false;
  }

  // What is wrong with the kernels that no earlier pass left.
  std::vector<std::string> broken_kernels(const Module& m) {
    std::vector<std::string> problems;
    for (const auto& [name, k] : m.kernels()) {
      if (!valid_.insert(k).second) continue;
      for (const std::string& wrong : kernel::validate(*k))
        problems.push_back(cat("kernel @", name.text(), ": ", wrong));
    }
    return problems;
  }

  // Nothing if the program traps or does not take the inputs: then there is no answer to compare
  // with.
  std::optional<Answer> first_answer(const Module& m) {
    if (const Fn* fn = m.function("main"); fn && !takes(*fn, inputs_)) return std::nullopt;
    std::optional<Value> value = interpret(m);
    if (!value) return std::nullopt;
    return Answer{*value, reference_of(m, "main", inputs_)};
  }

  std::optional<Value> interpret(const Module& m) {
    try {
      return interp::Machine(m).call("main", inputs_);
    } catch (const Trap&) {
      return std::nullopt;
    }
  }

  const RunnerOptions& options_;
  Diagnostics& diagnostics_;
  std::vector<Value> inputs_;              // of @main, for Verify::kSemantics
  std::set<const kernel::Kernel*> valid_;  // that were looked at
  std::map<std::string, size_t> rules_;    // that the step applied, and how often
  const OnRule on_rule_ = [this](const std::string& rule, size_t times) { rules_[rule] += times; };
  const OnKernel on_kernel_ = [this](Symbol kernel, const Call& replaced) {
    for (Observer* o : options_.observers) o->lowered(kernel, replaced);
  };
};

}  // namespace

std::span<const Pass* const> all_passes() {
  static const std::vector<const Pass*> sorted = [] {
    std::vector<const Pass*> list(std::begin(kAllPasses), std::end(kAllPasses));
    std::sort(list.begin(), list.end(), [](const Pass* a, const Pass* b) { return a->name < b->name; });
    return list;
  }();
  return sorted;
}

const Pass* find_pass(std::string_view name) {
  for (const Pass* p : all_passes()) {
    if (p->name == name) return p;
  }
  return nullptr;
}

std::string no_such_pass(std::string_view name, std::vector<std::string> others) {
  for (const Pass* p : all_passes()) {
    if (!name.empty() && p->former_name == name)
      return cat("there is no pass `", name, "`; it is called `", p->name, "` now");
    others.emplace_back(p->name);
  }
  return no_such("pass", name, others);
}

Result<Module> run_pipeline(const Module& m, const Pipeline& pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics) {
  return run_pipeline(Module(m), pipeline, options, diagnostics);
}

Result<Module> run_pipeline(Module&& m, const Pipeline& pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics) {
  return Runner(options, diagnostics).run(std::move(m), pipeline);
}

Result<Module> run_pipeline(const Module& m, std::string_view pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics) {
  const Result<Pipeline> steps = parse_pipeline(pipeline, diagnostics);
  return steps ? run_pipeline(m, *steps, options, diagnostics) : kReported;
}

}  // namespace relay::passes
