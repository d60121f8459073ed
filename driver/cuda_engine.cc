#include "driver/cuda_engine.h"

#include <filesystem>

#include "aot/build.h"
#include "aot/cuda/build.h"
#include "aot/cuda/emit.h"
#include "base/cat.h"
#include "base/parallel.h"
#include "driver/artifact.h"
#include "driver/emitted.h"
#include "target/host.h"

namespace relay::driver {

namespace {

// Is there no GPU that the options ask for?
bool is_emulated(const Options& options) { return !options.target.gpu; }

// The GPU that the options ask for, or the usual one.
target::Target gpu_of(const Options& options) {
  return is_emulated(options) ? target::target_of("cuda") : options.target;
}

}  // namespace

Emitted emit_aot_cuda(const Module& m, std::string_view function, const Options& options) {
  Emitted out;
  if (options.target.vta) {
    out.skipped = target::cannot_run(options.target);
    return out;
  }
  Options on_gpu = options;
  on_gpu.target = gpu_of(options);
  const Result<Module> lowered = optimise(m, function, on_gpu, out.refusal);
  Result<aot::Program> program =
      lowered ? aot::make_program(*lowered, "main", out.refusal, passes::Shapes::kConstant)
              : Result<aot::Program>(kReported);
  aot::cuda::EmitOptions emit;
  emit.opt_level = options.opt_level;
  emit.kernel_files = is_emulated(options) ? 1 : usable_cores();
  Result<aot::Sources> sources =
      program ? aot::cuda::emit(*program, on_gpu.target, emit, out.refusal) : Result<aot::Sources>(kReported);
  if (!sources) {
    out.skipped = reason(out.refusal);
    return out;
  }
  out.sources = std::move(*sources);
  out.program = std::move(*program);
  return out;
}

Prepared prepare_aot_cuda(const Module& m, std::string_view function, const Options& options) {
  Emitted emitted = emit_aot_cuda(m, function, options);
  if (!emitted.program) return {{}, emitted.skipped, emitted.refusal};
  const auto build = [&](const std::string& library, Diagnostics& diagnostics) {
    if (!is_emulated(options)) {
      return aot::cuda::build(emitted.sources, options.target, {options.opt_level}, library, diagnostics)
          .ok();
    }
    const std::string folder = std::filesystem::path(library).parent_path().string();
    const std::string wrong = aot::cuda::build_emulated(emitted.sources, folder, library);
    if (!wrong.empty())
      aot::report_uncompiled(wrong, "the engines `interp`, `jit` and `graph` need no compiler", diagnostics);
    return wrong.empty();
  };
  return prepare_artifact(std::move(*emitted.program), 1, build, kept_library(options, "aot-cuda"), options);
}

}  // namespace relay::driver
