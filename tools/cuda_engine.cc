#include "tools/cuda_engine.h"

#include <filesystem>

#include "aot/build.h"
#include "aot/cuda/build.h"
#include "aot/cuda/emit.h"
#include "base/cat.h"
#include "kernel/native/parallel.h"
#include "passes/runner.h"
#include "tools/artifact.h"

namespace relay::tools {

Prepared prepare_aot_cuda(const Module& m, std::string_view function, const EngineOptions& options) {
  aot::cuda::Target target;
  const bool emulated = !aot::cuda::is_target(options.target);
  if (!emulated) {
    if (std::string wrong = aot::cuda::parse_target(options.target, target); !wrong.empty())
      return {{}, wrong};
  }
  passes::RunnerOptions run;
  aot::cuda::aim_at_gpu(options.opt_level, run);
  Diagnostics refused;
  Result<Module> lowered = passes::run_pipeline(with_entry(m, function),
                                                aot::cuda::default_pipeline(options.opt_level), run, refused);
  if (!lowered) return {{}, reason(refused), refused};
  Result<aot::Program> program = aot::make_program(*lowered, "main", refused, passes::Shapes::kConstant);
  if (!program) return {{}, reason(refused), refused};
  aot::cuda::EmitOptions emit;
  emit.opt_level = options.opt_level;
  emit.kernel_files = emulated ? 1 : kernel::native::usable_cores();
  const Result<aot::Sources> sources = aot::cuda::emit(*program, target, emit, refused);
  if (!sources) return {{}, reason(refused), refused};
  const auto build = [&](const aot::Program&, const std::string& library, Diagnostics& diagnostics) {
    if (!emulated) return aot::cuda::build(*sources, target, {options.opt_level}, library, diagnostics).ok();
    const std::string folder = std::filesystem::path(library).parent_path().string();
    const std::string wrong = aot::cuda::build_emulated(*sources, folder, library);
    if (!wrong.empty())
      aot::report_uncompiled(wrong, "the engines `interp`, `jit` and `graph` need no compiler", diagnostics);
    return wrong.empty();
  };
  return prepare_artifact(std::move(*program), 1, build);
}

}  // namespace relay::tools
