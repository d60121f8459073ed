// Runs pipelines of passes on modules.
//
// After every pass the module is type checked. Nothing is printed or written: observers are told.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "passes/observer.h"
#include "runtime/value.h"

namespace relay::passes {

enum class Verify : uint8_t {
  kNone,
  kTypes,  // also check that the module and its kernels are well formed after every pass
  // Also interpret @main before and after every pass, and name the first pass that changed the
  // answer.
  kSemantics,
};

struct RunnerOptions {
  Verify verify = Verify::kNone;
  std::vector<Value> sample_inputs = {};  // for Verify::kSemantics
  target::Target target = target::default_target();
  kernel::schedule::Settings schedule = {};  // of the kernels that `lower` makes
  std::vector<Observer*> observers = {};     // told in this order
  // Is told why a pass leaves the program as it is, if the pass has a reason. Null: nobody asks.
  std::function<void(const Pass& pass, std::string_view reason)> on_reason = {};
};

// Type checks the module, then runs the steps. Errors are in `diagnostics`: those of passes,
// "pass-broke-types", "pass-broke-module" and "pass-changed-answer" of passes that are wrong, and
// those of observers.
Result<Module> run_pipeline(const Module& m, const Pipeline& pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics);
// The same for a module that nobody else has. Constants that passes replaced are freed between the
// passes if they are large: the module moves to a new context then (`compact`).
Result<Module> run_pipeline(Module&& m, const Pipeline& pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics);
// The same for its text.
Result<Module> run_pipeline(const Module& m, std::string_view pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics);

}  // namespace relay::passes
