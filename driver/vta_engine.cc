#include "driver/vta_engine.h"

#include <algorithm>
#include <memory>

#include "base/cat.h"
#include "base/check.h"
#include "base/failure.h"
#include "driver/kernels_of_layers.h"
#include "driver/machine.h"
#include "target/host.h"
#include "target/machines.h"
#include "vta/compile/for_target.h"
#include "vta/program/run.h"
#include "vta/simulator_driver.h"

namespace relay::driver {
namespace {

// The passes that leave operators whole: those before constants are folded first, and that.
passes::Pipeline before_partition(const Options& options, const target::Target& host) {
  const passes::Pipeline all = passes::default_pipeline(options.opt_level, host, options.denormals);
  const auto folds = std::find_if(all.begin(), all.end(),
                                  [](const passes::Step& s) { return s.pass == &passes::kFoldConstants; });
  // At -O0 nothing is folded.
  if (folds == all.end()) return passes::until(all, passes::kExpandOperators);
  passes::Pipeline out(all.begin(), folds + 1);
  std::erase_if(out, [](const passes::Step& s) { return s.pass == &passes::kExpandOperators; });
  return out;
}

// A simulated VTA and the layers that it runs.
class Device {
 public:
  explicit Device(VtaProgram program)
      : program_(std::make_shared<VtaProgram>(std::move(program))), driver_(program_->layout) {
    program_->runs.resize(program_->parts.layers.size());
  }

  const std::shared_ptr<VtaProgram>& program() const { return program_; }

  std::vector<Tensor> run(const KernelsOfLayers::Of& kernel, std::span<const Tensor> inputs) {
    const vta::DeviceLayer& layer = program_->parts.layers.at(kernel.layer);
    Diagnostics diagnostics;
    const Result<Tensor> made =
        vta::run(driver_, layer, inputs.first(kernel.params), *kernel.result, diagnostics);
    if (!made) fail(layer, diagnostics);
    LayerRuns& runs = program_->runs.at(kernel.layer);
    ++runs.count;
    runs.last = driver_.counters();
    return {*made};
  }

 private:
  // A stream that the simulator refuses is our own, so it is a bug; memory may be too small.
  [[noreturn]] static void fail(const vta::DeviceLayer& layer, const Diagnostics& diagnostics) {
    CHECK(diagnostics.has_errors(), cat(layer.name, ": the driver failed and said nothing"));
    const Diagnostic& first = diagnostics.all().front();
    CHECK(first.slug().fault() == Fault::kLimit, cat(layer.name, ": ", first.message()));
    throw Exhausted(cat(layer.name, ": ", first.message()));
  }

  std::shared_ptr<VtaProgram> program_;
  vta::SimulatorDriver driver_;
};

}  // namespace

Result<VtaProgram> vta_program(const Module& checked, std::string_view function, const Options& options,
                               Diagnostics& diagnostics) {
  if (options.target.gpu) {
    diagnostics.error(Span::none(), "engine-skips", target::cannot_run(options.target));
    return kReported;
  }
  const target::Target target = options.target.vta ? options.target : target::with_vta(options.target);
  const Result<vta::Layout> layout = vta::Layout::make(vta::params_of(*target.vta), diagnostics);
  if (!layout) return kReported;
  Options on_host = options;
  on_host.target = target::host_of(target);
  const Result<Module> simple =
      optimise(checked, function, before_partition(options, on_host.target), on_host, diagnostics);
  if (!simple) return kReported;
  const vta::ScheduleOptions schedule = vta::schedule_options_of(*target.vta);
  return VtaProgram{target, *layout, schedule, vta::partition(*simple, *layout, schedule)};
}

std::string nothing_for_vta(const VtaProgram& program) {
  if (!program.parts.layers.empty()) return {};
  if (program.parts.left.empty())
    return "nothing of it is for a VTA: no operator multiplies, pools or casts integers";
  const vta::StaysOnCpu& first = program.parts.left.front();
  return cat("nothing of it is for a VTA: `", first.what, "`: ", first.why);
}

std::string vta_skips(const Module& checked, std::string_view function, const Options& options) {
  Diagnostics refusal;
  const Result<VtaProgram> program = vta_program(checked, function, options, refusal);
  return program ? nothing_for_vta(*program) : reason(refusal);
}

Prepared prepare_vta(const Module& checked, std::string_view function, const Options& options) {
  Diagnostics refusal;
  Result<VtaProgram> program = vta_program(checked, function, options, refusal);
  if (!program) return {{}, reason(refusal), refusal};
  if (std::string wrong = target::cannot_run(target::host_of(program->target)); !wrong.empty())
    return {{}, wrong};
  if (std::string nothing = nothing_for_vta(*program); !nothing.empty()) return {{}, nothing};
  KernelsOfLayers kernels;
  jit::Options run;
  run.compile.target = target::host_of(program->target);
  run.compile.opt_level = options.opt_level;
  run.threads = static_cast<unsigned>(options.threads);
  run.worth_threads = options.worth_threads;
  run.denormals = options.denormals;
  run.observers = options.observers;
  run.observers.push_back(&kernels);
  const jit::Prepared prepared = jit::prepare(program->parts.module, run);
  // Without kernels the layers would be computed on the CPU.
  if (prepared.refusal.has_errors()) return {{}, reason(prepared.refusal), prepared.refusal};
  const auto device = std::make_shared<Device>(std::move(*program));
  for (const auto& [kernel, of] : kernels.found()) {
    run.elsewhere.emplace(kernel,
                          [device, of](std::span<const Tensor> inputs) { return device->run(of, inputs); });
  }
  Diagnostics diagnostics;
  auto made = jit::CompiledOperators::create(prepared.module, run, diagnostics);
  if (!made) throw CannotPrepare(diagnostics);
  Prepared out;
  out.vta = device->program();
  out.run = run_with(std::move(*made), prepared.module, options);
  return out;
}

}  // namespace relay::driver
