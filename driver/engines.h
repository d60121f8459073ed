// The engines: everything that runs a program. One row each in engines.cc.
//
// An engine may skip a program, with a reason; it may never differ (docs/adding-an-engine.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "graph_runtime/executor.h"
#include "interp/limits.h"
#include "ir/module.h"
#include "kernel/schedule/settings.h"
#include "passes/runner.h"
#include "runtime/denormals.h"
#include "runtime/value.h"
#include "target/target.h"

namespace relay::driver {

struct VtaProgram;  // driver/vta_engine.h

struct Options {
  int opt_level = 2;
  int threads = 1;
  // How many elements a loop has that threads share. Tests set 1: their programs are small.
  int64_t worth_threads = kernel::schedule::kWorthThreads;
  target::Target target = target::target_of("native");
  Denormals denormals = Denormals::kFlush;  // in compiled code; the interpreter keeps them
  // Of runs on the interpreter's machine: interp, jit and vta. Compiled libraries hear `cancel`.
  interp::Limits limits = {};
  bool trap_nan = false;  // of runs on the machine: a call that gives a NaN fails
  // A folder in which the libraries of ahead-of-time engines are kept, for one program: ENGINE.so,
  // made where it is missing.
  std::string libraries = {};
  // Told of the passes of engines that compile.
  std::vector<passes::Observer*> observers = {};
};

// How a run ended.
struct Outcome {
  enum class Kind { kValue, kTrap, kExhausted };
  Kind kind = Kind::kValue;
  Value value = {};
  std::string message = {};  // of a trap, or the limit
  Span at = {};              // of a trap or a limit: the expression, where the engine knows it
  // Operator calls that an engine which compiles evaluated by their definitions instead.
  size_t interpreted_calls = 0;
};

// What the run gives, or how it failed.
Outcome outcome_of(const std::function<Value()>& run);

// A program made ready to run.
struct Prepared {
  std::function<Outcome(const std::vector<Value>& args)> run;  // null if it is skipped
  std::string skipped = {};                                    // why
  // The same in full, where a pass refused the program. With `run`: why the engine runs it
  // in a weaker form.
  Diagnostics refusal = {};
  // Of the graph runtime: its steps can be observed, and run one by one. Null for other engines.
  std::shared_ptr<graph_runtime::Executor> executor = {};
  // Of the engine `vta`: its layers, and what runs of them have done. Null for other engines.
  std::shared_ptr<const VtaProgram> vta = {};
};

// A program while engines are asked whether they take it. What several of them have to find out is
// found out once.
struct Question {
  Question(const Module& checked, std::string_view entry, Options given = {})
      : module(checked), function(entry), options(std::move(given)) {}

  const Module& module;
  std::string_view function;
  Options options;

  // Why the engines skip it that run plans and functions on the processor.
  struct OnProcessor {
    std::string graph, aot;
  };
  const OnProcessor& on_processor();

 private:
  std::optional<OnProcessor> on_processor_ = {};
};

struct Engine {
  std::string_view name, doc;
  bool compiles;  // opt levels, threads and targets mean something
  Prepared (*prepare)(const Module& checked, std::string_view function, const Options& options);
  // Why `prepare` would skip the program, or an empty text: found without compiling anything.
  std::string (*skips)(Question& question);
  // It has a device that few programs have work for: asked if it is named, or if a target has the
  // device.
  bool for_device = false;
  // It stands on the interpreter's machine: Options::limits and trap_nan hold.
  bool on_machine = false;
};

// The machine, not the program, is to blame: no compiler, a full disk.
struct CannotPrepare : std::runtime_error {
  explicit CannotPrepare(const Diagnostics& why);
  Diagnostics diagnostics;
};

std::span<const Engine> engines();
const Engine* find_engine(std::string_view name);

// Why an engine skips the program: it may ask for what the engine lacks. That a pass broke it is no
// reason, but a bug.
std::string reason(const Diagnostics& diagnostics);

// What is wrong with a name of an engine that the user gave, with those that there are; empty if
// nothing is.
std::string wrong_engine(const std::string& name);

// The module with `function` as its @main, and nothing that it does not reach.
Module with_entry(const Module& m, std::string_view function);

// How the passes run under these options.
passes::RunnerOptions runner_options(const Options& options);

// The same module after these passes, for the options' target and level. First expand-grad replaces
// each `grad(f)`; reports "not-differentiable" where it cannot.
Result<Module> optimise(const Module& checked, std::string_view function, const passes::Pipeline& pipeline,
                        const Options& options, Diagnostics& diagnostics);
// The same of a module that nobody else has (passes/runner.h).
Result<Module> optimise(Module&& checked, std::string_view function, const passes::Pipeline& pipeline,
                        const Options& options, Diagnostics& diagnostics);
// The same after those of the level.
Result<Module> optimise(const Module& checked, std::string_view function, const Options& options,
                        Diagnostics& diagnostics);

// Makes a program ready for the engine `graph` by other passes than those of its level.
Prepared prepare_graph(const Module& checked, std::string_view function, const passes::Pipeline& pipeline,
                       const Options& options);

}  // namespace relay::driver
