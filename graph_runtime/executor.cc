#include "graph_runtime/executor.h"

#include <chrono>
#include <cstring>
#include <unordered_map>

#include "base/cat.h"

namespace relay::graph_runtime {
namespace {

void check_input(const passes::PlanPort& port, const Tensor& t) {
  if (t.dtype() == port.type->dtype && t.shape() == *port.type->static_shape()) return;
  throw Trap(cat("input `", port.name, "` must be ", show(port.type), ", it is Tensor[", show(t.shape()),
                 ", ", t.dtype().name(), "]"));
}

}  // namespace

Executor::Executor(passes::Plan plan, std::shared_ptr<Context> context, unsigned threads)
    : plan_(std::move(plan)),
      context_(std::move(context)),
      threads_(threads),
      workspace_(kUInt8, {static_cast<int64_t>(plan_.workspace_bytes)}) {}

Result<std::unique_ptr<Executor>> Executor::create(passes::Plan plan, std::shared_ptr<Context> context,
                                                   const ExecutorOptions& options, Diagnostics& diagnostics) {
  std::unique_ptr<Executor> e(new Executor(std::move(plan), std::move(context), options.threads));
  std::vector<const kernel::Kernel*> kernels;
  std::unordered_map<const kernel::Kernel*, size_t> index;
  for (const passes::PlanStep& s : e->plan_.steps) {
    if (s.kernel && index.emplace(s.kernel, kernels.size()).second) kernels.push_back(s.kernel);
    e->kernel_of_step_.push_back(s.kernel ? index.at(s.kernel) : SIZE_MAX);
  }
  if (std::string wrong = options.code_generator(kernels, options.compile, e->kernels_); !wrong.empty()) {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("`relay doctor` says what this machine lacks; the engines `interp` and `jit` run any program");
    return kReported;
  }
  return e;
}

void* Executor::address(uint32_t value, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const passes::PlanValue& v = plan_.values[value];
  switch (v.place) {
    case passes::Place::kInput: return const_cast<void*>(inputs[v.at].data());  // kernels only read it
    case passes::Place::kOutput: return outputs[v.at].data();
    case passes::Place::kConstant: return plan_.constants[v.at].data();
    case passes::Place::kWorkspace: return static_cast<uint8_t*>(workspace_.data()) + v.at;
  }
  return nullptr;
}

std::vector<Tensor> Executor::tensors(const std::vector<uint32_t>& values, std::span<const Tensor> inputs,
                                      std::span<Tensor> outputs) {
  std::vector<Tensor> list;
  for (uint32_t v : values) {
    const TensorType& type = *plan_.values[v].type;
    list.emplace_back(type.dtype, *type.static_shape(), address(v, inputs, outputs), nullptr);
  }
  return list;
}

std::vector<Tensor> Executor::run(std::span<const Tensor> inputs) {
  if (inputs.size() != plan_.inputs.size()) {
    throw Trap(cat("the program has ", plan_.inputs.size(), " inputs, ", inputs.size(), " were given"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) check_input(plan_.inputs[i], inputs[i]);
  std::vector<Tensor> outputs;
  for (const passes::PlanPort& p : plan_.outputs)
    outputs.emplace_back(p.type->dtype, *p.type->static_shape());
  std::vector<void*> buffers;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const passes::PlanStep& s = plan_.steps[i];
    buffers.clear();
    for (const auto* list : {&s.inputs, &s.outputs, &s.temporaries}) {
      for (uint32_t v : *list) buffers.push_back(address(v, inputs, outputs));
    }
    const auto begin = std::chrono::steady_clock::now();
    if (!s.kernel) {
      if (const uint64_t bytes = plan_.values[s.inputs[0]].bytes) std::memcpy(buffers[1], buffers[0], bytes);
    } else if (const int32_t status =
                   kernels_.call(kernel_of_step_[i], threads_.parallel(), buffers.data())) {
      throw Trap(kernels_.message(kernel_of_step_[i], status), s.origin->span);
    }
    if (observer_) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      observer_(s, tensors(s.inputs, inputs, outputs), tensors(s.outputs, inputs, outputs), took.count());
    }
  }
  return outputs;
}

}  // namespace relay::graph_runtime
