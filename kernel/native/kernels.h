// Kernels as machine code in this process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/native/parallel.h"
#include "kernel/native/toolchain.h"
#include "runtime/tensor.h"

namespace relay::kernel::native {

class CompiledKernels {
 public:
  // Prints, compiles and loads the kernels. Returns what went wrong, or an empty text.
  [[nodiscard]] std::string compile(std::span<const Kernel* const> kernels, const CompileOptions& options);

  // Runs the i-th kernel on pointers to its inputs, outputs and temporaries, in this order, and the values of its
  // shape parameters. Returns 0, or the number of the requirement that was violated, from 1.
  int32_t call(size_t i, const relay_parallel* parallel, void* const* buffers,
               const int64_t* dims = nullptr) const {
    return entries_[i].function(parallel, buffers, dims);
  }
  // The same on tensors: `k` is the kernel that was the i-th. Allocates outputs and temporaries. Throws Trap.
  std::vector<relay::Tensor> run(size_t i, const Kernel& k, std::span<const relay::Tensor> inputs,
                                 const relay_parallel* parallel) const;
  const std::string& message(size_t i, int32_t status) const {
    return entries_[i].messages[static_cast<size_t>(status - 1)];
  }

 private:
  using Function = int32_t (*)(const relay_parallel*, void* const*, const int64_t*);
  struct Entry {
    Function function;
    std::vector<std::string> messages;
  };
  Library library_;
  std::vector<Entry> entries_;
};

// Compiles one kernel and runs it once, for small uses. Throws Trap.
std::vector<relay::Tensor> run_natively(const Kernel& k, std::span<const relay::Tensor> inputs,
                                        const CompileOptions& options, unsigned threads = 1);

}  // namespace relay::kernel::native
