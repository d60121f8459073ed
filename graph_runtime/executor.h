// Executor: runs a memory plan in this process.
//
// Kernels are compiled when the executor is made. The workspace is allocated then, too: a run allocates its outputs and
// nothing else. One thread uses an executor at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/failure.h"
#include "base/result.h"
#include "kernel/llvm/compile.h"
#include "kernel/native/kernels.h"
#include "passes/plan_memory.h"

namespace relay::graph_runtime {

struct ExecutorOptions {
  kernel::native::CompileOptions compile;
  kernel::native::CodeGenerator code_generator = kernel::jit::compile;
  unsigned threads = 1;
};

// What a step did, for profiles and debuggers: called after each step with the tensors it read and wrote. They share the
// workspace, so their contents are valid during the call only.
using Observer = std::function<void(const passes::PlanStep& step, std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs, double seconds)>;

class Executor {
 public:
  // Reports "cannot-compile". The context keeps the kernels that the plan points at.
  static Result<std::unique_ptr<Executor>> create(passes::Plan plan, std::shared_ptr<Context> context,
                                                  const ExecutorOptions& options, Diagnostics& diagnostics);

  // Inputs in the plan's order. Throws Trap, also for inputs of another number, shape or dtype.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  const passes::Plan& plan() const { return plan_; }
  void set_observer(Observer observer) { observer_ = std::move(observer); }

 private:
  Executor(passes::Plan plan, std::shared_ptr<Context> context, unsigned threads);
  void* address(uint32_t value, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  std::vector<Tensor> tensors(const std::vector<uint32_t>& values, std::span<const Tensor> inputs,
                              std::span<Tensor> outputs);

  passes::Plan plan_;
  std::shared_ptr<Context> context_;
  kernel::native::Threads threads_;
  kernel::native::CompiledKernels kernels_;
  std::vector<size_t> kernel_of_step_;  // index into kernels_
  Tensor workspace_;
  Observer observer_;
};

}  // namespace relay::graph_runtime
