// Functions of C++ that stand beside those of the program: they make its constants, and values of
// its constructors and kernels where these are no calls.
#pragma once

#include <set>
#include <string>

#include "aot/device_library.h"
#include "aot/kernel_calls.h"
#include "ir/module.h"
#include "kernel/kernel.h"

namespace relay::aot {

class Wrappers {
 public:
  // Names begin with `prefix`.
  Wrappers(std::string_view prefix, const DeviceLibrary& device_library, KernelCalls& calls)
      : prefix_(prefix), device_library_(device_library), calls_(calls) {}

  // Constant i, of this shape, lies at `offset` of the weights.
  void add_constant(size_t i, const Shape& shape, uint64_t offset);
  // The name of a function that makes a value by the constructor. Constructors of any types that
  // have the same tag and as many fields share it.
  std::string constructor(const Constructor& c);
  // The name of a function that calls the kernel.
  std::string kernel(const kernel::Kernel& k);

  const std::string& text() const { return text_; }

  // What was there at a time.
  struct Mark {
    size_t length;
    std::set<std::string> names;
  };
  Mark mark() const { return {text_.size(), names_}; }
  void rewind(Mark mark);

 private:
  std::string prefix_;
  const DeviceLibrary& device_library_;
  KernelCalls& calls_;
  std::set<std::string> names_;
  std::string text_;
};

}  // namespace relay::aot
