#include "tools/cuda_engine.h"

#include <filesystem>

#include "aot/build.h"
#include "aot/cuda/build.h"
#include "aot/cuda/emit.h"
#include "base/cat.h"
#include "base/check.h"
#include "kernel/native/parallel.h"
#include "passes/runner.h"
#include "tools/artifact.h"
#include "tools/emitted.h"

namespace relay::tools {

namespace {

// Is there no GPU that the options ask for?
bool is_emulated(const EngineOptions& options) { return !aot::cuda::is_target(options.target); }

// Returns what is wrong with the options' target, or an empty text.
std::string read_target(const EngineOptions& options, aot::cuda::Target& target) {
  return is_emulated(options) ? std::string() : aot::cuda::parse_target(options.target, target);
}

}  // namespace

Emitted emit_aot_cuda(const Module& m, std::string_view function, const EngineOptions& options) {
  Emitted out;
  aot::cuda::Target target;
  out.skipped = read_target(options, target);
  if (!out.skipped.empty()) return out;
  passes::RunnerOptions run;
  aot::cuda::aim_at_gpu(options.opt_level, run);
  const Result<Module> lowered = passes::run_pipeline(
      with_entry(m, function), aot::cuda::default_pipeline(options.opt_level), run, out.refusal);
  Result<aot::Program> program =
      lowered ? aot::make_program(*lowered, "main", out.refusal, passes::Shapes::kConstant)
              : Result<aot::Program>(kReported);
  aot::cuda::EmitOptions emit;
  emit.opt_level = options.opt_level;
  emit.kernel_files = is_emulated(options) ? 1 : kernel::native::usable_cores();
  Result<aot::Sources> sources =
      program ? aot::cuda::emit(*program, target, emit, out.refusal) : Result<aot::Sources>(kReported);
  if (!sources) {
    out.skipped = reason(out.refusal);
    return out;
  }
  out.sources = std::move(*sources);
  out.program = std::move(*program);
  return out;
}

Prepared prepare_aot_cuda(const Module& m, std::string_view function, const EngineOptions& options) {
  Emitted emitted = emit_aot_cuda(m, function, options);
  if (!emitted.program) return {{}, emitted.skipped, emitted.refusal};
  const auto build = [&](const std::string& library, Diagnostics& diagnostics) {
    aot::cuda::Target target;
    if (!is_emulated(options)) {
      const std::string none = read_target(options, target);
      CHECK(none.empty(), none);
      return aot::cuda::build(emitted.sources, target, {options.opt_level}, library, diagnostics).ok();
    }
    const std::string folder = std::filesystem::path(library).parent_path().string();
    const std::string wrong = aot::cuda::build_emulated(emitted.sources, folder, library);
    if (!wrong.empty())
      aot::report_uncompiled(wrong, "the engines `interp`, `jit` and `graph` need no compiler", diagnostics);
    return wrong.empty();
  };
  return prepare_artifact(std::move(*emitted.program), 1, build, kept_library(options, "aot-cuda"));
}

}  // namespace relay::tools
