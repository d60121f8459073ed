#include "tools/page/kernel_errors.h"

#include <map>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "driver/artifact.h"
#include "graph_runtime/executor.h"
#include "ir/builder.h"
#include "op/apply.h"
#include "passes/reference.h"
#include "tools/profile.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

// So many runs are timed after one that touches the memory.
constexpr int kRuns = 100;

// A module whose @main is the function.
Module module_of(const Module& m, const Fn& fn) {
  Module out = m;
  for (const auto& [name, function] : m.functions()) out.remove_function(name.text());
  Builder b(m.context());
  out.set_function("main", b.fn({fn.params.begin(), fn.params.end()}, fn.body, fn.result));
  Diagnostics diagnostics;
  Result<Module> checked = typecheck::check(out, diagnostics);
  CHECK(checked.ok(), "a fused function type checks by itself");
  return *checked;
}

// A kernel takes tensors in the place of its function's parameters, and constants after them.
std::vector<Value> arguments(const Fn& fn, std::span<const Tensor> inputs) {
  std::vector<Value> out;
  size_t next = 0;
  for (const Var* p : fn.params) {
    const size_t count = op::flatten(std::vector<Type>{p->type}).size();
    const std::span<const Tensor> parts = inputs.subspan(next, count);
    out.push_back(driver::result_of(p->type, {parts.begin(), parts.end()}));
    next += count;
  }
  return out;
}

class Comparer {
 public:
  Comparer(const driver::Model& model, const Lineage& lineage, Figures& out)
      : model_(model), lineage_(lineage), out_(out) {
    for (size_t i = 0; i < lineage.kernels.size(); ++i) index_[lineage.kernels[i].name] = i;
  }

  void compare(const passes::PlanStep& step, std::span<const Tensor> inputs,
               std::span<const Tensor> results) {
    if (!step.kernel) return;
    const size_t i = index_.at(step.kernel->name.text());
    KernelFigures& figures = out_.kernels[i];
    ++figures.calls;
    const auto* fn = lineage_.kernels[i].replaced->callee->as<Fn>();
    if (!fn) {
      figures.uncompared = "a kernel of the program is its own definition";
      return;
    }
    const passes::Reference reference =
        passes::reference_of(module_of(model_.module, *fn), "main", arguments(*fn, inputs));
    for (size_t r = 0; r < reference.own.size() && r < results.size(); ++r) {
      const Comparison c = reference.compare(r, results[r]);
      if (figures.worst.worst < 0 || c.needed > figures.worst.needed) figures.worst = c;
      out_.ok &= c.ok;
    }
  }

 private:
  const driver::Model& model_;
  const Lineage& lineage_;
  Figures& out_;
  std::map<std::string_view, size_t> index_;
};

void run(const Lineage& lineage, graph_runtime::Executor& executor, std::span<const Tensor> inputs,
         Comparer& comparer, Figures& out) {
  executor.set_observer([&](const passes::PlanStep& step, auto in, auto results, double) {
    comparer.compare(step, in, results);
  });
  executor.run(inputs);
  const std::vector<std::string> unnamed(executor.plan().steps.size());
  Profile profile(executor.plan(), unnamed, nullptr, target::target_of("native"), 1);
  executor.set_observer(
      [&](const passes::PlanStep& step, auto, auto, double seconds) { profile.step(step, seconds); });
  for (int i = 0; i < kRuns; ++i) {
    profile.begin_run();
    executor.run(inputs);
    profile.end_run();
  }
  out.seconds = profile.run_seconds();
  for (const ProfileRow& row : profile.rows()) {
    for (size_t i = 0; i < lineage.kernels.size(); ++i) {
      if (lineage.kernels[i].name == row.kernel) out.kernels[i].seconds = row.seconds;
    }
  }
}

}  // namespace

std::optional<Figures> figures_of(const driver::Model& model, const Lineage& lineage,
                                  std::span<const Tensor> inputs, Session& session) {
  Progress progress(session, "page");
  progress.step("the error and the time of each kernel");
  graph_runtime::ProgramOptions options;
  options.compile.target = target::target_of("native");
  Diagnostics diagnostics;
  const auto program = graph_runtime::Program::create(lineage.plan, lineage.context, options, diagnostics);
  if (!program) {
    session.fail(diagnostics, model.module.context().sources());
    return std::nullopt;
  }
  Figures out;
  out.kernels.resize(lineage.kernels.size());
  Comparer comparer(model, lineage, out);
  const driver::Outcome outcome = driver::outcome_of([&] {
    graph_runtime::Executor executor(*program, 1);
    run(lineage, executor, inputs, comparer, out);
    return Value();
  });
  if (outcome.kind == driver::Outcome::Kind::kValue) return out;
  session.fail(outcome.kind == driver::Outcome::Kind::kTrap ? kMismatch : kLimit, outcome.message);
  return std::nullopt;
}

}  // namespace relay::tools
