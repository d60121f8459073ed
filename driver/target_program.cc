#include "driver/target_program.h"

#include <algorithm>

#include "base/check.h"
#include "driver/code_of_others.h"
#include "driver/kernels_of_layers.h"
#include "driver/vta_engine.h"
#include "target/target.h"

namespace relay::driver {
namespace {

// As a layer of an artifact, in the place of the kernel.
aot::VtaLayer layer_of(const vta::DeviceLayer& layer, const kernel::Kernel& kernel) {
  aot::VtaLayer out = {.kernel = kernel.name, .name = layer.name, .code = layer.code, .reads = {layer.input}};
  for (const std::optional<size_t>& read : layer.tensors) {
    if (read) out.reads.push_back(*read);
  }
  const auto add_axes = [&](const kernel::Buffer& tensor) {
    aot::VtaAxes axes = {0, 1, 2, 3};
    if (layer.axes.size() == axes.size() && tensor.shape.size() == axes.size())
      std::copy(layer.axes.begin(), layer.axes.end(), axes.begin());
    out.axes.push_back(axes);
  };
  CHECK(kernel.outputs.size() == 1, "a layer has one result");
  add_axes(*kernel.outputs[0]);
  for (size_t read : out.reads) add_axes(*kernel.inputs[read]);
  return out;
}

Result<TargetProgram> program_on_vta(const VtaProgram& parted, const passes::Pipeline& pipeline,
                                     const Options& options, Diagnostics& diagnostics) {
  KernelsOfLayers kernels;
  Options on_host = options;
  on_host.target = target::host_of(parted.target);
  on_host.observers.push_back(&kernels);
  const Result<Module> lowered = optimise(parted.parts.module, "main", pipeline, on_host, diagnostics);
  if (!lowered) return kReported;
  aot::VtaLayers vta = {.layout = parted.layout};
  for (size_t i = 0; i < parted.parts.layers.size(); ++i) {
    for (const auto& [name, of] : kernels.found()) {
      const kernel::Kernel* kernel = of.layer == i ? lowered->kernel(name.text()) : nullptr;
      if (kernel && !vta.add(layer_of(parted.parts.layers[i], *kernel), diagnostics)) return kReported;
    }
  }
  Result<aot::Program> program = aot::make_program(aot::with_vta_kernels(*lowered, vta), "main", diagnostics);
  if (!program) return kReported;
  return TargetProgram{parted.target, std::move(*program), std::move(vta)};
}

}  // namespace

Result<TargetProgram> program_for_target(Module checked, std::string_view function,
                                         const passes::Pipeline& pipeline, const Options& options,
                                         Diagnostics& diagnostics) {
  if (options.target.vta) {
    const Result<VtaProgram> parted = vta_program(checked, function, options, diagnostics);
    return parted ? program_on_vta(*parted, pipeline, options, diagnostics)
                  : Result<TargetProgram>(kReported);
  }
  TargetProgram out{options.target, {}};
  checked = with_code_of_others(std::move(checked), function, out.external, out.kept);
  const Result<Module> lowered = optimise(std::move(checked), function, pipeline, options, diagnostics);
  Result<aot::Program> program =
      lowered ? aot::make_program(*lowered, "main", diagnostics) : Result<aot::Program>(kReported);
  if (!program) return kReported;
  out.program = std::move(*program);
  return out;
}

}  // namespace relay::driver
