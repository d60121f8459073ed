// The engine `jit`: the interpreter's machine, with operators and kernels as machine code.
//
// The machine decides what is evaluated and when, so the whole language is there. What it would
// compute by an operator's definition is computed by compiled code instead: the module's kernels,
// compiled before the run, and operator calls that no kernel holds, compiled when they are met
// first with these shapes. A view, another shape for the same elements, has no code: the machine
// makes it. An operator without a lowering is evaluated as it is defined, and counted.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/symbol.h"
#include "interp/machine.h"
#include "kernel/llvm/compile.h"
#include "kernel/native/kernels.h"
#include "kernel/schedule/settings.h"
#include "op/op_def.h"
#include "passes/observer.h"
#include "runtime/denormals.h"

namespace relay::jit {

// Computes a kernel by other means than compiled code: the results for these inputs.
using RunElsewhere = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

struct Options {
  toolchain::CompileOptions compile;
  kernel::native::CodeGenerator code_generator = kernel::llvm::compile;
  unsigned threads = 1;
  int64_t worth_threads = kernel::schedule::kWorthThreads;  // how many elements a loop has that they share
  Denormals denormals = Denormals::kFlush;                  // in compiled code
  std::vector<passes::Observer*> observers = {};            // of the passes that `prepare` runs
  // By kernels of the module that run on a device: none of them is compiled.
  std::map<Symbol, RunElsewhere> elsewhere = {};
};

// The module for the machine: optimised and lowered as for other engines. A program that the
// lowering refuses keeps its operator calls, which are compiled one by one; `refusal` says why.
struct Prepared {
  Module module;
  Diagnostics refusal = {};
};
Prepared prepare(const Module& checked, const Options& options);

class CompiledOperators {
 public:
  // Compiles the kernels of the module. Reports "cannot-compile".
  static Result<std::unique_ptr<CompiledOperators>> create(const Module& prepared, const Options& options,
                                                           Diagnostics& diagnostics);

  ~CompiledOperators();

  // Makes a machine compute with this; it must not outlive it.
  void use_in(interp::Options& machine);

  // Operator calls outside of kernels, of all runs: on compiled code, views of their arguments, and
  // on their definitions.
  size_t compiled_calls() const { return compiled_calls_; }
  size_t view_calls() const { return view_calls_; }
  size_t interpreted_calls() const { return interpreted_calls_; }

 private:
  // An operator, compiled for the types and attributes of one call.
  struct Operator;
  using Operators = std::list<Operator>;

  CompiledOperators(Module module, const Options& options);
  std::vector<Tensor> run(const kernel::Kernel& k, std::span<const Tensor> inputs);
  std::optional<Value> call(const op::OpDef& def, std::span<const Value> args, const Attrs& attrs);
  const Operator& find(const op::OpDef& def, std::span<const Value> args, const Attrs& attrs);
  void compile(Operator& into, std::span<const Value> args, const Attrs& attrs);

  Module module_;  // keeps the kernels and the attributes
  const Options options_;
  kernel::native::Threads threads_;
  kernel::native::CompiledKernels kernels_;
  // A kernel of the module. One of static shapes is called without asking again what they are.
  struct Known {
    size_t index;  // into kernels_, if it is compiled
    bool is_static = false;
    std::vector<std::pair<DType, Shape>> made = {};  // results, then temporaries
    std::vector<Shape> taken = {};                   // of arguments
    const RunElsewhere* elsewhere = nullptr;         // in options_; then it is not compiled
  };
  std::unordered_map<const kernel::Kernel*, Known> known_;
  Operators operators_;  // the last used first
  std::unordered_multimap<uint64_t, Operators::iterator> found_;
  size_t compiled_calls_ = 0, view_calls_ = 0, interpreted_calls_ = 0;
};

}  // namespace relay::jit
