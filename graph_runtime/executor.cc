#include "graph_runtime/executor.h"

#include <chrono>
#include <cstring>
#include <set>
#include <unordered_map>

#include "base/cat.h"
#include "passes/in_place.h"

namespace relay::graph_runtime {
namespace {

void check_port(std::string_view what, const passes::PlanPort& port, const Tensor& t) {
  if (t.dtype() == port.type->dtype && t.shape() == *port.type->static_shape()) return;
  throw Trap(cat(kWrongShape, what, " `", port.name, "` must be ", show(port.type), ", it is Tensor[",
                 show(t.shape()), ", ", t.dtype().name(), "]"));
}

bool overlap(const Tensor& a, const Tensor& b) {
  const auto begin = [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()); };
  return begin(a) < begin(b) + b.bytes() && begin(b) < begin(a) + a.bytes();
}

std::optional<size_t> find(const std::vector<passes::PlanPort>& ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const Program>> Program::create(passes::Plan plan, std::shared_ptr<Context> context,
                                                       const ProgramOptions& options,
                                                       Diagnostics& diagnostics) {
  std::shared_ptr<Program> p(new Program(std::move(plan), std::move(context)));
  p->denormals_ = options.denormals;
  std::vector<const kernel::Kernel*> kernels;
  std::unordered_map<const kernel::Kernel*, size_t> index;
  for (const passes::PlanStep& s : p->plan_.steps) {
    if (s.kernel && index.emplace(s.kernel, kernels.size()).second) kernels.push_back(s.kernel);
    p->kernel_of_step_.push_back(s.kernel ? index.at(s.kernel) : SIZE_MAX);
  }
  toolchain::CompileOptions compile = options.compile;
  compile.in_place = !passes::shared_parameters(p->plan_, {}).empty();
  if (std::string wrong = options.code_generator(kernels, compile, p->kernels_); !wrong.empty()) {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("`relay doctor` says what this machine lacks; the engines `interp` and `jit` run any program");
    return kReported;
  }
  return std::shared_ptr<const Program>(std::move(p));
}

Executor::Executor(std::shared_ptr<const Program> program, unsigned threads)
    : program_(std::move(program)),
      threads_(threads),
      workspace_(kUInt8, {static_cast<int64_t>(plan().workspace_bytes)}),
      bound_inputs_(plan().inputs.size()),
      bound_outputs_(plan().outputs.size()) {}

void* Executor::address(uint32_t value, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const passes::PlanValue& v = plan().values[value];
  // Kernels only read inputs and constants.
  switch (v.storage) {
    case passes::Storage::kInput: return const_cast<void*>(inputs[v.at].data());
    case passes::Storage::kOutput: return outputs[v.at].data();
    case passes::Storage::kConstant: return const_cast<void*>(plan().constants[v.at].data());
    case passes::Storage::kWorkspace: return static_cast<uint8_t*>(workspace_.data()) + v.at;
  }
  return nullptr;
}

std::vector<Tensor> Executor::tensors(const std::vector<uint32_t>& values, std::span<const Tensor> inputs,
                                      std::span<Tensor> outputs) {
  std::vector<Tensor> list;
  for (uint32_t v : values) {
    const TensorType& type = *plan().values[v].type;
    list.emplace_back(type.dtype, *type.static_shape(), address(v, inputs, outputs), nullptr);
  }
  return list;
}

void Executor::check(std::span<const Tensor> inputs) const {
  if (inputs.size() != plan().inputs.size()) {
    throw Trap(cat("the program has ", plan().inputs.size(), " inputs, ", inputs.size(), " were given"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) check_port("input", plan().inputs[i], inputs[i]);
}

void Executor::step(size_t i, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const passes::PlanStep& s = plan().steps[i];
  buffers_.clear();
  for (const auto* list : {&s.inputs, &s.outputs, &s.temporaries}) {
    for (uint32_t v : *list) buffers_.push_back(address(v, inputs, outputs));
  }
  const size_t kernel = program_->kernel_of_step_[i];
  const auto begin = std::chrono::steady_clock::now();
  if (!s.kernel) {
    if (const uint64_t bytes = plan().values[s.inputs[0]].bytes) std::memcpy(buffers_[1], buffers_[0], bytes);
  } else {
    const DenormalsScope scope(program_->denormals_);
    if (const int32_t status = program_->kernels_.call(kernel, threads_.parallel(), buffers_.data()))
      throw Trap(program_->kernels_.message(kernel, status), s.origin->span);
  }
  if (observer_) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    observer_(s, tensors(s.inputs, inputs, outputs), tensors(s.outputs, inputs, outputs), took.count());
  }
}

std::vector<Tensor> Executor::run(std::span<const Tensor> inputs) {
  check(inputs);
  std::vector<Tensor> outputs;
  for (const passes::PlanPort& p : plan().outputs)
    outputs.emplace_back(p.type->dtype, *p.type->static_shape());
  for (size_t i = 0; i < plan().steps.size(); ++i) step(i, inputs, outputs);
  return outputs;
}

void Executor::bind_input(size_t i, Tensor t) {
  check_port("input", plan().inputs.at(i), t);
  bound_inputs_[i] = std::move(t);
}

void Executor::bind_output(size_t i, Tensor t) {
  check_port("output", plan().outputs.at(i), t);
  bound_outputs_[i] = std::move(t);
}

void Executor::run() {
  struct Bound {
    std::string what;
    const Tensor* tensor;
  };
  std::vector<Bound> all;  // inputs, then outputs
  for (size_t i = 0; i < bound_inputs_.size(); ++i)
    all.push_back({cat("input `", plan().inputs[i].name, "`"), &bound_inputs_[i]});
  for (size_t i = 0; i < bound_outputs_.size(); ++i)
    all.push_back({cat("output `", plan().outputs[i].name, "`"), &bound_outputs_[i]});
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].tensor->defined()) throw Trap(cat(all[i].what, " is not bound to memory"));
    // Inputs may share memory with each other.
    for (size_t k = 0; k < i && i >= bound_inputs_.size(); ++k) {
      if (overlap(*all[i].tensor, *all[k].tensor))
        throw Trap(cat(all[i].what, " shares memory with ", all[k].what));
    }
  }
  for (size_t i = 0; i < plan().steps.size(); ++i) step(i, bound_inputs_, bound_outputs_);
}

std::optional<size_t> Executor::input(std::string_view name) const { return find(plan().inputs, name); }
std::optional<size_t> Executor::output(std::string_view name) const { return find(plan().outputs, name); }

std::vector<Tensor> Executor::run_to(size_t last, std::span<const Tensor> inputs) {
  check(inputs);
  const std::vector<bool> needed = steps_needed(plan(), last);
  std::vector<Tensor> outputs(plan().outputs.size());
  for (size_t i = 0; i <= last; ++i) {
    if (!needed[i]) continue;
    for (uint32_t v : plan().steps[i].outputs) {
      const passes::PlanValue& value = plan().values[v];
      if (value.storage != passes::Storage::kOutput) continue;
      const TensorType& type = *plan().outputs[value.at].type;
      outputs[value.at] = Tensor(type.dtype, *type.static_shape());
    }
    step(i, inputs, outputs);
  }
  std::vector<Tensor> results;
  for (const Tensor& t : tensors(plan().steps[last].outputs, inputs, outputs)) results.push_back(t.copy());
  return results;
}

std::vector<bool> steps_needed(const passes::Plan& plan, size_t step) {
  // Backwards: what is wanted is where it lies, since a value and its views lie in one place and,
  // from its step to its last use, nothing else does.
  std::vector<bool> needed(plan.steps.size());
  std::set<std::pair<passes::Storage, uint64_t>> wanted;
  const auto location = [&](uint32_t v) { return std::pair(plan.values[v].storage, plan.values[v].at); };
  for (uint32_t v : plan.steps[step].outputs) wanted.insert(location(v));
  for (size_t i = step + 1; i-- > 0;) {
    const passes::PlanStep& s = plan.steps[i];
    bool gives = false;
    for (uint32_t v : s.outputs) gives |= wanted.erase(location(v)) > 0;
    if (!gives) continue;
    needed[i] = true;
    for (uint32_t v : s.inputs) wanted.insert(location(v));
  }
  return needed;
}

}  // namespace relay::graph_runtime
