#include "driver/engines.h"

#include <array>
#include <memory>

#include "analysis/devices.h"
#include "aot/build.h"
#include "aot/program.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/limit_at.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "driver/artifact.h"
#include "driver/code_of_others.h"
#include "driver/cuda_engine.h"
#include "driver/emitted.h"
#include "driver/libraries.h"
#include "driver/machine.h"
#include "driver/results.h"
#include "driver/vta_engine.h"
#include "graph_runtime/executor.h"
#include "interp/machine.h"
#include "ir/reachable.h"
#include "ir/rewrite.h"
#include "jit/operators.h"
#include "passes/expand_grad.h"
#include "target/host.h"

namespace relay::driver {
std::string kept_library(const Options& options, std::string_view engine) {
  return options.libraries.empty() ? "" : cat(options.libraries, "/", engine, ".so");
}

namespace {

// The module with `function` as its @main, and no `grad`, which neither passes nor engines have.
// What is left for a code generator of others runs by its body, and everything runs on one device.
Result<Module> entry_of(const Module& checked, std::string_view function, Diagnostics& diagnostics) {
  const Result<Module> known = passes::without_grad(checked, diagnostics);
  if (!known) return kReported;
  return with_entry(analysis::without_devices(aot::with_bodies(*known)), function);
}

// --- interp --------------------------------------------------------------------------------------

Prepared prepare_interp(const Module& m, std::string_view function, const Options& options) {
  Diagnostics refusal;
  const Result<Module> known = passes::without_grad(m, refusal);
  if (!known) return {{}, reason(refusal), refusal};
  return {[m = *known, name = std::string(function),
           run = machine_options(options)](const std::vector<Value>& args) {
    return outcome_of([&] { return interp::Machine(m, run).call(name, args); });
  }};
}

// --- jit -----------------------------------------------------------------------------------------

Prepared prepare_jit(const Module& m, std::string_view function, const Options& options) {
  jit::Options run;
  if (std::string wrong = target::cannot_run(options.target); !wrong.empty()) return {{}, wrong};
  run.compile.target = options.target;
  run.compile.opt_level = options.opt_level;
  run.threads = static_cast<unsigned>(options.threads);
  run.worth_threads = options.worth_threads;
  run.denormals = options.denormals;
  run.observers = options.observers;
  Diagnostics refusal, diagnostics;
  const Result<Module> entry = entry_of(m, function, refusal);
  if (!entry) return {{}, reason(refusal), refusal};
  const jit::Prepared prepared = jit::prepare(*entry, run);
  auto made = jit::CompiledOperators::create(prepared.module, run, diagnostics);
  if (!made) throw CannotPrepare(diagnostics);
  return {run_with(std::move(*made), prepared.module, options), {}, prepared.refusal};
}

// --- graph ---------------------------------------------------------------------------------------

// A program that the graph runtime can run, and where its tensors lie; or why there is none.
struct Planned {
  std::optional<Module> lowered;
  std::optional<passes::Plan> plan;
  std::string skipped;
  Diagnostics refusal;
};

passes::Pipeline passes_of(const Options& options) {
  return passes::default_pipeline(options.opt_level, options.target, options.denormals);
}

// The passes that decide whether an engine takes a program. How weights lie in memory does not, and
// copies of large ones take long and much memory.
passes::Pipeline deciding_passes(const Options& options) {
  passes::Pipeline out = passes_of(options);
  std::erase_if(out, [](const passes::Step& step) {
    return step.pass == &passes::kPackWeights || step.pass == &passes::kJoinProducts;
  });
  return out;
}

Planned plan_graph(Result<Module> lowered, Diagnostics refusal) {
  Planned out;
  out.refusal = std::move(refusal);
  if (lowered) out.lowered = std::move(*lowered);
  if (out.lowered) {
    if (Result<passes::Plan> plan = passes::plan_memory(*out.lowered, "main", out.refusal))
      out.plan = std::move(*plan);
  }
  if (!out.plan) out.skipped = reason(out.refusal);
  return out;
}
Planned plan_graph(const Module& m, std::string_view function, const passes::Pipeline& pipeline,
                   const Options& options) {
  Planned out;
  out.skipped = target::cannot_run(options.target);
  if (!out.skipped.empty()) return out;
  Diagnostics refusal;
  Result<Module> lowered = optimise(m, function, pipeline, options, refusal);
  return plan_graph(std::move(lowered), std::move(refusal));
}

Prepared prepare_graph_after(const Module& m, std::string_view function, const passes::Pipeline& pipeline,
                             const Options& options) {
  Diagnostics kept, diagnostics;
  const Result<Module> ready = with_loaded_code(m, function, options, kept, diagnostics);
  if (!ready) throw CannotPrepare(diagnostics);
  Planned planned = plan_graph(*ready, function, pipeline, options);
  if (!planned.plan) return {{}, planned.skipped, planned.refusal};
  graph_runtime::ProgramOptions compile;
  compile.compile.target = options.target;
  compile.compile.opt_level = options.opt_level;
  compile.denormals = options.denormals;
  const Module& lowered = *planned.lowered;
  const auto program = graph_runtime::Program::create(std::move(*planned.plan), lowered.shared_context(),
                                                      compile, diagnostics);
  if (!program) throw CannotPrepare(diagnostics);
  const auto executor =
      std::make_shared<graph_runtime::Executor>(*program, static_cast<unsigned>(options.threads));
  Prepared out;
  out.refusal = kept;
  out.executor = executor;
  out.run = [executor, type = lowered.function("main")->body->type](const std::vector<Value>& args) {
    return outcome_of([&] { return result_of(type, executor->run(tensors_of_args(args))); });
  };
  return out;
}

Prepared prepare_on_graph(const Module& m, std::string_view function, const Options& options) {
  return prepare_graph_after(m, function, passes_of(options), options);
}

// --- aot-cpp -------------------------------------------------------------------------------------

// The program of a lowered module, whose external code `out` has. Without one `out.skipped` says
// why. `kept`: which functions run by their bodies.
void add_program(const Result<Module>& lowered, const Diagnostics& kept, const Options& options,
                 Emitted& out) {
  Result<aot::Program> program =
      lowered ? aot::make_program(*lowered, "main", out.refusal) : Result<aot::Program>(kReported);
  if (!program) {
    out.skipped = reason(out.refusal);
    return;
  }
  out.compile.opt_level = options.opt_level;
  out.skipped = link_here(*program, out.external.symbols, out.compile);
  if (out.skipped.empty()) out.program = std::move(*program);
  out.refusal = kept;
}

// All but the sources.
Emitted program_of_aot(const Module& m, std::string_view function, const Options& options) {
  Emitted out;
  out.skipped = target::cannot_run(options.target);
  if (!out.skipped.empty()) return out;
  Diagnostics kept;
  const Module ready = with_code_of_others(m, function, out.external, kept);
  const Result<Module> lowered = optimise(ready, function, passes_of(options), options, out.refusal);
  add_program(lowered, kept, options, out);
  return out;
}

Prepared prepare_aot(const Module& m, std::string_view function, const Options& options) {
  Emitted emitted = emit_aot(m, function, options);
  if (!emitted.program) return {{}, emitted.skipped, emitted.refusal};
  const auto build = [&](const std::string& library, Diagnostics& diagnostics) {
    return aot::build(emitted.sources, aot::Weights::kEmbedded, emitted.compile, library, diagnostics).ok();
  };
  Prepared out = prepare_artifact(std::move(*emitted.program), options.threads, build,
                                  kept_library(options, "aot-cpp"), options);
  out.refusal = emitted.refusal;
  return out;
}

// --- the table -----------------------------------------------------------------------------------

std::string skips_nothing(Question&) { return {}; }
std::string graph_skips(Question& q) { return q.on_processor().graph; }
std::string aot_skips(Question& q) { return q.on_processor().aot; }
// What an engine makes of the module lies in its context, and so goes with a copy.
std::string aot_cuda_skips(Question& q) {
  return emit_aot_cuda(compact(q.module), q.function, q.options).skipped;
}
std::string asked_vta_skips(Question& q) { return vta_skips(compact(q.module), q.function, q.options); }

template <Prepared (*prepare)(const Module&, std::string_view, const Options&)>
Prepared comparing_results(const Module& m, std::string_view function, const Options& options) {
  Prepared out = prepare(m, function, options);
  out.run = with_compared_result(m, function, std::move(out.run));
  return out;
}

constexpr std::array<Engine, 6> kEngines = {{
    {"interp", "the reference interpreter: defines what programs mean", false,
     comparing_results<prepare_interp>, skips_nothing,
     /*for_device=*/false, /*on_machine=*/true},
    {"jit", "the interpreter with compiled operators: the whole language, in this process", true,
     comparing_results<prepare_jit>, skips_nothing, /*for_device=*/false, /*on_machine=*/true},
    {"graph", "the graph runtime: static dataflow, compiled kernels, in this process", true,
     comparing_results<prepare_on_graph>, graph_skips},
    {"aot-cpp", "the ahead-of-time compiler: C++ to a library, through its C interface", true,
     comparing_results<prepare_aot>, aot_skips},
    {"aot-cuda",
     "the ahead-of-time compiler: CUDA to a library; emulated on the CPU unless the target is a GPU", true,
     comparing_results<prepare_aot_cuda>, aot_cuda_skips},
    {"vta", "layers of integers on a VTA, which is simulated; the rest as `jit`", true,
     comparing_results<prepare_vta>, asked_vta_skips, /*for_device=*/true, /*on_machine=*/true},
}};

// Frees the name for an entry: other functions may call the program's own @main.
Module with_main_renamed(const Module& m) {
  std::string name = "main_0";
  for (int i = 1; m.function(name); ++i) name = cat("main_", i);
  Module out = rewrite(m, [&](Builder& b, Expr e) -> Expr {
    const auto* global = e->as<Global>();
    return global && global->name.text() == "main" ? b.global(name, e->type) : e;
  });
  out.set_function(name, out.function("main"));
  out.remove_function("main");
  return out;
}

}  // namespace

Emitted emit_aot(const Module& m, std::string_view function, const Options& options) {
  Emitted out = program_of_aot(m, function, options);
  if (!out.program) return out;
  aot::EmitOptions emit;
  // It has no number of threads: whoever opens the library says it.
  emit.opt_level = options.opt_level;
  emit.denormals = options.denormals;
  emit.kernel_files = usable_cores();
  emit.join_files = true;
  const aot::Variant variant{.program = &*out.program,
                             .target = options.target,
                             .external = out.external.empty() ? nullptr : &out.external};
  out.sources = aot::emit(variant, emit);
  return out;
}

const Question::OnProcessor& Question::on_processor() {
  if (on_processor_) return *on_processor_;
  OnProcessor& out = on_processor_.emplace();
  out.graph = out.aot = target::cannot_run(options.target);
  if (!out.graph.empty()) return out;
  const passes::Pipeline pipeline = deciding_passes(options);
  Emitted emitted;
  Diagnostics kept;
  const Module copy = compact(module);
  const Module ready = with_code_of_others(copy, function, emitted.external, kept);
  Result<Module> lowered = optimise(ready, function, pipeline, options, emitted.refusal);
  const Diagnostics refusal = emitted.refusal;
  add_program(lowered, kept, options, emitted);
  out.aot = emitted.skipped;
  // With code of others that runs in this process, `graph` has a module of its own.
  out.graph = emitted.external.empty() ? plan_graph(std::move(lowered), refusal).skipped
                                       : plan_graph(copy, function, pipeline, options).skipped;
  return out;
}

CannotPrepare::CannotPrepare(const Diagnostics& why)
    : std::runtime_error(why.all().empty() ? "" : why.all().front().message()), diagnostics(why) {}

std::string reason(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.all()) CHECK(d.slug().fault() != Fault::kBug, d.message());
  return diagnostics.all().empty() ? "no reason was given" : diagnostics.all().front().message();
}

Outcome outcome_of(const std::function<Value()>& run) {
  try {
    return {Outcome::Kind::kValue, run(), {}};
  } catch (const Trap& trap) {
    return {Outcome::Kind::kTrap, {}, trap.what(), trap.span};
  } catch (const LimitAt& limit) {
    return {Outcome::Kind::kExhausted, {}, limit.what(), limit.span};
  } catch (const Exhausted& limit) {
    return {Outcome::Kind::kExhausted, {}, limit.what()};
  }
}

std::span<const Engine> engines() { return kEngines; }

const Engine* find_engine(std::string_view name) {
  for (const Engine& e : kEngines) {
    if (e.name == name) return &e;
  }
  return nullptr;
}

std::string wrong_engine(const std::string& name) {
  if (find_engine(name)) return {};
  return no_such("engine", name, names_of(engines(), [](const Engine& e) { return e.name; }));
}

Module with_entry(const Module& m, std::string_view function) {
  Module out = m;
  if (function != "main") {
    if (m.function("main")) out = with_main_renamed(out);
    // A variable is bound once in a module: a function under two names would bind its own twice.
    out.set_function("main", refresh(m.context(), out.function(function))->as<Fn>());
  }
  return only_reachable_from(out, "main");
}

passes::RunnerOptions runner_options(const Options& options) {
  passes::RunnerOptions out;
  out.target = options.target;
  out.schedule.opt_level = options.opt_level;
  out.schedule.worth_threads = options.worth_threads;
  out.observers = options.observers;
  return out;
}

Result<Module> optimise(const Module& checked, std::string_view function, const passes::Pipeline& pipeline,
                        const Options& options, Diagnostics& diagnostics) {
  const Result<Module> entry = entry_of(checked, function, diagnostics);
  return entry ? passes::run_pipeline(*entry, pipeline, runner_options(options), diagnostics)
               : Result<Module>(kReported);
}

Result<Module> optimise(Module&& checked, std::string_view function, const passes::Pipeline& pipeline,
                        const Options& options, Diagnostics& diagnostics) {
  Result<Module> entry = entry_of(checked, function, diagnostics);
  checked = Module();
  return entry ? passes::run_pipeline(std::move(*entry), pipeline, runner_options(options), diagnostics)
               : Result<Module>(kReported);
}

Result<Module> optimise(const Module& checked, std::string_view function, const Options& options,
                        Diagnostics& diagnostics) {
  return optimise(checked, function, passes_of(options), options, diagnostics);
}

Prepared prepare_graph(const Module& checked, std::string_view function, const passes::Pipeline& pipeline,
                       const Options& options) {
  return prepare_graph_after(checked, function, pipeline, options);
}

}  // namespace relay::driver
