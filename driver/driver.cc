#include "driver/driver.h"

#include "aot/build.h"
#include "base/cat.h"
#include "driver/target_program.h"
#include "driver/weaker.h"

namespace relay::driver {

Result<Module> optimise(const Model& model, const passes::Pipeline& pipeline, const Options& options,
                        Diagnostics& diagnostics) {
  return optimise(model.module, model.function, pipeline, options, diagnostics);
}

Result<Executable> prepare(const Model& model, std::string_view engine, const Options& options,
                           Diagnostics& diagnostics) {
  const Engine* found = find_engine(engine);
  if (!found) {
    diagnostics.error(Span::none(), "engine-skips", wrong_engine(std::string(engine)));
    return kReported;
  }
  try {
    Prepared prepared = found->prepare(model.module, model.function, options);
    if (prepared.run) {
      diagnostics.add(weaker_form(engine, prepared));
      return Executable(std::move(prepared));
    }
    diagnostics.add(prepared.refusal);
    if (!prepared.refusal.has_errors())
      diagnostics.error(Span::none(), "engine-skips", cat("engine `", engine, "`: ", prepared.skipped));
  } catch (const CannotPrepare& why) {
    diagnostics.add(why.diagnostics);
  }
  return kReported;
}

Result<aot::Sources> emit(const Model& model, std::span<const target::Target> targets,
                          const aot::EmitOptions& options, Diagnostics& diagnostics) {
  std::vector<TargetProgram> programs;
  for (const target::Target& target : targets) {
    Result<TargetProgram> program = program_for_target(
        model.module, model.function,
        passes::default_pipeline(options.opt_level, target::host_of(target), options.denormals),
        {.opt_level = options.opt_level, .target = target, .denormals = options.denormals}, diagnostics);
    if (!program) return kReported;
    programs.push_back(std::move(*program));
  }
  std::vector<aot::Variant> variants;
  for (const TargetProgram& program : programs) variants.push_back(program.variant());
  return aot::emit(variants, options);
}

Result<std::vector<std::string>> build(const aot::Sources& sources, const aot::EmitOptions& options,
                                       target::Isa isa, const std::string& artifact,
                                       Diagnostics& diagnostics) {
  toolchain::CompileOptions compile;
  compile.target = target::baseline(isa);
  compile.opt_level = options.opt_level;
  return aot::build(sources, options.weights, compile, artifact, diagnostics);
}

std::vector<VerifyRow> verify(const Model& model, const std::vector<Value>& args,
                              const VerifyOptions& options) {
  return Verifier(model, options).run(args);
}

}  // namespace relay::driver
