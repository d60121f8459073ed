// Kernels as machine code in this process.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/external.h"
#include "kernel/kernel.h"
#include "kernel/native/threads.h"
#include "runtime/tensor.h"
#include "toolchain/compiler.h"

namespace relay::kernel::native {

class CompiledKernels {
 public:
  using Function = int32_t (*)(const relay_parallel*, void* const* buffers, const int64_t* dims);
  struct Entry {
    Function function;
    std::vector<std::string> messages = {};  // of the requirements, in the order of their numbers
    const Kernel* external = nullptr;        // in the place of the function, which is null then
  };

  CompiledKernels() = default;
  // What a code generator made; `code` is kept as long as the functions may be called. External
  // kernels must live as long as this does.
  CompiledKernels(std::vector<Entry> entries, std::shared_ptr<void> code)
      : entries_(std::move(entries)), code_(std::move(code)) {}

  // Prints the kernels as C++, compiles and loads them. Returns what went wrong, or an empty text.
  [[nodiscard]] std::string compile(std::span<const Kernel* const> kernels,
                                    const toolchain::CompileOptions& options);

  // Runs the i-th kernel on pointers to its inputs, outputs and temporaries, in this order, and
  // the values of its shape parameters. Returns 0, or the number of the requirement that was
  // violated, from 1; of an external kernel, what its function gives. Throws Trap if no library
  // has that function.
  int32_t call(size_t i, const relay_parallel* parallel, void* const* buffers,
               const int64_t* dims = nullptr) const {
    const Entry& e = entries_[i];
    return e.external ? call_external(*e.external, buffers, dims) : e.function(parallel, buffers, dims);
  }
  // The same on tensors: `k` is the kernel that was the i-th. Allocates outputs and
  // temporaries. Throws Trap.
  std::vector<relay::Tensor> run(size_t i, const Kernel& k, std::span<const relay::Tensor> inputs,
                                 const relay_parallel* parallel) const;
  std::string message(size_t i, int32_t status) const {
    const Entry& e = entries_[i];
    return e.external ? external_failure(*e.external, status) : e.messages[static_cast<size_t>(status - 1)];
  }

 private:
  std::vector<Entry> entries_;
  std::shared_ptr<void> code_;
};

// Makes machine code of kernels. Returns what went wrong, or an empty text.
using CodeGenerator = std::function<std::string(
    std::span<const Kernel* const> kernels, const toolchain::CompileOptions& options, CompiledKernels& out)>;
// By way of C++ and the system's compiler. The other one is kernel/llvm.
[[nodiscard]] std::string compile_as_cpp(std::span<const Kernel* const> kernels,
                                         const toolchain::CompileOptions& options, CompiledKernels& out);

}  // namespace relay::kernel::native
