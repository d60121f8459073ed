// Compares LLVM in this process with the system's C++ compiler, on the kernels of a model: the time
// to compile, from nothing and from disk, and the time of every kernel, both versions in turns
// within one process.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/cat.h"
#include "base/file.h"
#include "frontend/onnx/import.h"
#include "kernel/execute.h"
#include "kernel/llvm/compile.h"
#include "kernel/native/kernels.h"
#include "passes/plan_memory.h"
#include "passes/runner.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "typecheck/check.h"

namespace relay::bench {
namespace {

namespace native = kernel::native;

double seconds_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One kernel of the plan with buffers of its own, which hold numbers of moderate size.
struct Subject {
  const kernel::Kernel* kernel;
  int steps = 0;  // of the plan that run it
  std::vector<Tensor> buffers;
  std::vector<void*> pointers;
  std::vector<double> cpp = {}, llvm = {};  // seconds

  void add(const kernel::Buffer* b, uint32_t seed) {
    Shape shape;
    for (kernel::Expr e : b->shape) shape.push_back(*kernel::evaluate(e, {}));
    Tensor t(b->dtype, shape);
    for (int64_t i = 0; i < t.size(); ++i) {
      seed = seed * 1664525 + 1013904223;
      t.set(i, static_cast<double>(seed >> 24) / 128 - 1);
    }
    pointers.push_back(t.data());
    buffers.push_back(std::move(t));
  }
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Seconds of this thread for one call.
double time_once(const native::CompiledKernels& code, size_t i, const relay_parallel* parallel, Subject& s) {
  const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  (void)code.call(i, parallel, s.pointers.data());
  return seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin;
}

int fail(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.all()) std::fprintf(stderr, "%s\n", d.message().c_str());
  return 3;
}

struct Options {
  std::string model, target = "native";
  int rounds = 30, opt_level = 2;
  bool only_llvm = false;
};

// Wall-clock and processor seconds of a compilation; the latter without those of
// compilers that it starts.
int compile(std::string_view what, const native::CodeGenerator& generator,
            std::span<const kernel::Kernel* const> kernels, const toolchain::CompileOptions& options,
            native::CompiledKernels& out) {
  const double wall = seconds_of(CLOCK_MONOTONIC), processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const std::string wrong = generator(kernels, options, out);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return 6;
  }
  fmt::print("{:<28} {:8.2f} s wall {:8.2f} s of this process\n", what, seconds_of(CLOCK_MONOTONIC) - wall,
             seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor);
  return 0;
}

// The kernels of the plan, each once.
std::vector<Subject> subjects_of(const passes::Plan& plan) {
  std::vector<Subject> subjects;
  std::map<const kernel::Kernel*, size_t> known;
  for (const passes::PlanStep& step : plan.steps) {
    if (!step.kernel) continue;
    if (known.emplace(step.kernel, subjects.size()).second) {
      Subject s{.kernel = step.kernel, .buffers = {}, .pointers = {}};
      for (const auto* list : {&s.kernel->inputs, &s.kernel->outputs, &s.kernel->temporaries}) {
        for (const kernel::Buffer* b : *list) s.add(b, static_cast<uint32_t>(s.buffers.size()));
      }
      subjects.push_back(std::move(s));
    }
    ++subjects[known.at(step.kernel)].steps;
  }
  return subjects;
}

// Of the two results of kernel i, in shares of the first one's elements.
double worst_difference(const native::CompiledKernels& cpp, const native::CompiledKernels& llvm, size_t i,
                        const relay_parallel* parallel, Subject& s) {
  double worst = 0;
  std::vector<Tensor> wanted;
  time_once(cpp, i, parallel, s);
  const size_t first = s.kernel->inputs.size();
  for (size_t o = 0; o < s.kernel->outputs.size(); ++o)
    wanted.push_back(s.buffers[first + o].converted(kFloat64));
  time_once(llvm, i, parallel, s);
  for (size_t o = 0; o < wanted.size(); ++o) {
    const Tensor got = s.buffers[first + o].converted(kFloat64);
    for (int64_t k = 0; k < got.size(); ++k) {
      const double a = got.get(k), b = wanted[o].get(k);
      if (!(std::isnan(a) && std::isnan(b)))
        worst = std::max(worst, std::fabs(a - b) / std::max(1.0, std::fabs(b)));
    }
  }
  return worst;
}

int run(const Options& options) {
  Diagnostics diagnostics;
  const Module empty;
  const Result<Module> imported = frontend::import_onnx(options.model, empty, {}, diagnostics);
  if (!imported) return fail(diagnostics);
  const double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const Result<Module> checked = typecheck::check(*imported, diagnostics);
  if (!checked) return fail(diagnostics);
  toolchain::CompileOptions compiling;
  const Result<target::Target> target = target::parse_target(options.target, diagnostics);
  if (!target) return fail(diagnostics);
  compiling.target = *target;
  compiling.opt_level = options.opt_level;
  passes::RunnerOptions passes;
  passes.schedule.opt_level = options.opt_level;
  passes.target = compiling.target;
  passes.schedule.parallel = false;
  const Result<Module> lowered =
      passes::run_pipeline(*checked, passes::default_pipeline(options.opt_level), passes, diagnostics);
  if (!lowered) return fail(diagnostics);
  const Result<passes::Plan> plan = passes::plan_memory(*lowered, "main", diagnostics);
  if (!plan) return fail(diagnostics);

  std::vector<Subject> subjects = subjects_of(*plan);
  std::vector<const kernel::Kernel*> kernels;
  for (const Subject& s : subjects) kernels.push_back(s.kernel);
  fmt::print("{}: {} steps, {} kernels\n", options.model, plan->steps.size(), kernels.size());
  fmt::print("{:<28} {:8} {:8.2f} s of this process\n", "check, passes, plan", "",
             seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin);

  TemporaryFolder cache;
  if (const std::string wrong = cache.make(); !wrong.empty()) return 6;
  setenv("RELAY_CACHE", cache.path().c_str(), 1);
  native::CompiledKernels cpp, llvm, again;
  if (int code = compile("LLVM, from nothing", kernel::llvm::compile, kernels, compiling, llvm)) return code;
  if (int code = compile("LLVM, from disk", kernel::llvm::compile, kernels, compiling, again)) return code;
  if (options.only_llvm) return 0;
  if (int code = compile("C++", native::compile_as_cpp, kernels, compiling, cpp)) return code;

  const native::Threads one(1);
  double all_cpp = 0, all_llvm = 0;
  fmt::print("\n{:>10} {:>10} {:>7}  kernel\n", "C++ us", "LLVM us", "ratio");
  for (size_t i = 0; i < subjects.size(); ++i) {
    Subject& s = subjects[i];
    // Results first: a fast kernel that computes something else is no kernel.
    const double worst = worst_difference(cpp, llvm, i, one.parallel(), s);
    for (int r = 0; r < options.rounds; ++r) {
      s.cpp.push_back(time_once(cpp, i, one.parallel(), s));
      s.llvm.push_back(time_once(llvm, i, one.parallel(), s));
    }
    const double a = median(s.cpp), b = median(s.llvm);
    all_cpp += a * s.steps;
    all_llvm += b * s.steps;
    fmt::print("{:10.1f} {:10.1f} {:7.3f}  {}{}{}\n", 1e6 * a, 1e6 * b, b / a, s.kernel->name.text(),
               s.steps > 1 ? cat(" x", s.steps) : "",
               worst > 0 ? fmt::format(" (differ by {:.1e})", worst) : "");
  }
  fmt::print("{:10.1f} {:10.1f} {:7.3f}  all steps\n", 1e6 * all_cpp, 1e6 * all_llvm, all_llvm / all_cpp);
  return 0;
}

}  // namespace
}  // namespace relay::bench

int main(int argc, char** argv) {
  relay::bench::Options options;
  relay::tools::CommandLine line("compares the two code generators on the kernels of an ONNX model");
  relay::tools::Command app = line.program();
  app.option("model", &options.model, "the ONNX file").required();
  app.option("--target", &options.target, "processor features");
  app.option("-O", &options.opt_level, "optimisation level");
  app.option("--rounds", &options.rounds, "times that each kernel runs")
      .check(relay::tools::count(1, 100000));
  app.flag("--only-llvm", &options.only_llvm, "times to compile only, without the C++ compiler");
  if (const std::optional<int> code = line.parse_or_report(argc, argv)) return *code;
  return relay::bench::run(options);
}
