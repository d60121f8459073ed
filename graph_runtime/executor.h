// Executor: runs a memory plan in this process.
//
// What does not change between runs is a Program: the plan, its constants and the compiled kernels.
// Any number of executors share one, each with a workspace of its own and in a thread of its own;
// the weights are there once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/failure.h"
#include "base/result.h"
#include "kernel/llvm/compile.h"
#include "kernel/native/kernels.h"
#include "passes/plan_memory.h"
#include "runtime/denormals.h"

namespace relay::graph_runtime {

struct ProgramOptions {
  toolchain::CompileOptions compile;
  kernel::native::CodeGenerator code_generator = kernel::llvm::compile;
  Denormals denormals = Denormals::kFlush;  // in the kernels
};

// A plan that can be run. Never changes, so threads may share it.
class Program {
 public:
  // Compiles the kernels. Reports "cannot-compile". The context keeps the kernels that
  // the plan points at.
  static Result<std::shared_ptr<const Program>> create(passes::Plan plan, std::shared_ptr<Context> context,
                                                       const ProgramOptions& options,
                                                       Diagnostics& diagnostics);

  const passes::Plan& plan() const { return plan_; }

 private:
  friend class Executor;
  Program(passes::Plan plan, std::shared_ptr<Context> context)
      : plan_(std::move(plan)), context_(std::move(context)) {}

  passes::Plan plan_;
  std::shared_ptr<Context> context_;
  Denormals denormals_ = Denormals::kFlush;
  kernel::native::CompiledKernels kernels_;
  std::vector<size_t> kernel_of_step_;  // index into kernels_
};

// What a step did, for profiles and debuggers: called after each step with the tensors it read and
// wrote. They share the workspace, so their contents are valid during the call only.
using Observer = std::function<void(const passes::PlanStep& step, std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs, double seconds)>;

// One thread uses an executor at a time. The workspace is allocated when it is made.
class Executor {
 public:
  explicit Executor(std::shared_ptr<const Program> program, unsigned threads = 1);

  // Inputs in the plan's order; the outputs are new. Throws Trap, also for inputs of another
  // number, shape or dtype.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  // Runs on memory that the caller lends: nothing is copied and nothing allocated. Inputs are read
  // as they are when run() is called, outputs are written in place. Binding throws Trap for another
  // shape or dtype; run() throws it if something is not bound, or if an output shares memory with
  // an input or another output.
  void bind_input(size_t i, Tensor t);
  void bind_output(size_t i, Tensor t);
  void run();
  // The number of the input or output of that name; nothing if there is none.
  std::optional<size_t> input(std::string_view name) const;
  std::optional<size_t> output(std::string_view name) const;

  // The results of a step, computing only what it needs. They are copies. Throws as run() does.
  std::vector<Tensor> run_to(size_t step, std::span<const Tensor> inputs);

  const passes::Plan& plan() const { return program_->plan_; }
  const std::shared_ptr<const Program>& program() const { return program_; }
  void set_observer(Observer observer) { observer_ = std::move(observer); }

 private:
  void* address(uint32_t value, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  std::vector<Tensor> tensors(const std::vector<uint32_t>& values, std::span<const Tensor> inputs,
                              std::span<Tensor> outputs);
  void check(std::span<const Tensor> inputs) const;
  void step(size_t i, std::span<const Tensor> inputs, std::span<Tensor> outputs);

  std::shared_ptr<const Program> program_;
  kernel::native::Threads threads_;
  Tensor workspace_;
  std::vector<Tensor> bound_inputs_, bound_outputs_;
  std::vector<void*> buffers_;  // of the step at work
  Observer observer_;
};

// Which steps the results of a step depend on, itself included: one flag for each step.
std::vector<bool> steps_needed(const passes::Plan& plan, size_t step);

}  // namespace relay::graph_runtime
