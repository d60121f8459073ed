// The C++ API: from a model's file to results, or to an artifact.
//
// Stages are values: stop after any of them, look at what it gave, change it, go on. Nothing is
// printed: what is wrong with a model or with this machine is reported to Diagnostics. A run ends
// in an Outcome: a value, a trap, or a limit. examples/embed is a whole program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aot/emit.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/engines.h"
#include "driver/model.h"
#include "driver/verifier.h"
#include "ir/module.h"
#include "passes/pipeline.h"
#include "runtime/value.h"
#include "target/target.h"

namespace relay::driver {

// Beside what driver/model.h has: `load` reads a model and checks its types, `specialise` gives it
// the extents of arguments.

// The model's function as @main, and nothing that it does not reach, after these passes. First
// expand-grad replaces each `grad(f)`; reports "not-differentiable" where it cannot.
// passes::default_pipeline(level, target) makes its operators kernels for the target.
Result<Module> optimise(const Model& model, const passes::Pipeline& pipeline, const Options& options,
                        Diagnostics& diagnostics);

// A model made ready to run. Copies share what was compiled.
class Executable {
 public:
  explicit Executable(Prepared prepared) : prepared_(std::make_shared<Prepared>(std::move(prepared))) {}

  // One value for each input of the model. Runs of one Executable must not overlap.
  Outcome run(const std::vector<Value>& args) const { return prepared_->run(args); }

 private:
  std::shared_ptr<const Prepared> prepared_;
};

// On the engine "interp", "jit", "graph", "aot-cpp", "aot-cuda" or "vta". Reports why the engine
// does not take the model ("engine-skips" if nothing else says so), and what this machine lacks.
// Warns where the engine runs it in a weaker form (driver/weaker.h).
Result<Executable> prepare(const Model& model, std::string_view engine, const Options& options,
                           Diagnostics& diagnostics);

// The sources of an artifact with code for each of the targets, the best first; processors, all of
// one instruction set. aot::listing prints them.
Result<aot::Sources> emit(const Model& model, std::span<const target::Target> targets,
                          const aot::EmitOptions& options, Diagnostics& diagnostics);

// Compiles them to `artifact`, DIR/NAME.so, and writes what stands beside it. Returns the paths.
// Reports "cannot-compile" and "file-unwritable".
Result<std::vector<std::string>> build(const aot::Sources& sources, const aot::EmitOptions& options,
                                       target::Isa isa, const std::string& artifact,
                                       Diagnostics& diagnostics);

// Each engine at each level against the interpreter (driver/row.h has what a row says).
std::vector<VerifyRow> verify(const Model& model, const std::vector<Value>& args,
                              const VerifyOptions& options = {});

}  // namespace relay::driver
