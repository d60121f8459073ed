// How the functions of a program call kernels (see functions.cc): what makes a kernel's results and
// runs it, and what deferred calls need (support/batches.cc).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "aot/device_library.h"
#include "aot/program.h"

namespace relay::aot {

class KernelCalls {
 public:
  KernelCalls(const Program& program, DeviceLibrary& device_library);

  // A call of the kernel with these arguments. What it writes lies at these places, in the order of
  // `written_by` (arenas.h), or by itself where a place is empty.
  std::string call(const kernel::Kernel& k, std::vector<std::string> args,
                   std::vector<std::string> places = {});
  // A line that stands before elements of tensors are read; empty if no call is deferred.
  std::string flush(const std::string& indent) const;
  bool any_deferred() const { return !deferrable_.empty(); }

  // When all calls are known: a function `call_NAME` for each kernel, from values to a value, and
  // tables of those whose calls can be deferred.
  std::string print();

 private:
  void kernel(const kernel::Kernel& k);
  void batched(const kernel::Kernel& one, const kernel::Kernel& many);

  const Program& p_;
  DeviceLibrary& device_library_;
  std::set<const kernel::Kernel*> deferrable_;  // kernels whose calls are deferred, and their batched ones
  std::set<const kernel::Kernel*> placed_;      // a call says where something of theirs lies
  std::string text_;
};

// Lines that make a tensor with these extents, by `before rank, extents after`; the function ends
// if there is none.
std::string print_tensor(const std::string& indent, const std::string& name,
                         const std::vector<std::string>& extents, const std::string& before,
                         const std::string& after);

}  // namespace relay::aot
