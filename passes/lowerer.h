// Kernels of primitive functions: what the operators' own lowerings say, one after the other,
// scheduled for the target.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "kernel/kernel.h"
#include "passes/pass.h"

namespace relay::passes {

// "nn.conv2d + add + @scale", for people; of so many names at most.
std::string describe(const Fn& fn, std::string_view separator, size_t most);
// A short form of it.
std::string kernel_name(const Fn& fn, size_t number);

// Constants within the function that are no part of the code: one element is, more are the kernel's
// further arguments.
std::vector<Expr> large_constants(const Fn& fn);

class Lowerer {
 public:
  Lowerer(const Module& m, const PassContext& pass);
  ~Lowerer();

  // Throws RelationError if an operator cannot be lowered for these types.
  kernel::Kernel lower(const Fn& fn, std::string_view name);
  // A user kernel; as it is written if it cannot be scheduled. For the CPU it gives the same bits
  // as that.
  const kernel::Kernel* lower_user_kernel(const kernel::Kernel* k) const;
  // That which does many calls of the function's kernel at once; nothing if all that they read is
  // the same, as constants are.
  std::optional<kernel::Kernel> lower_batched(const Call& call, const Fn& fn, std::string_view name);
  // The kernel that tells the function's its extents. What has such extents is opaque: it is all
  // of the function.
  kernel::Kernel lower_extents(const Fn& fn, std::string_view name);

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace relay::passes
