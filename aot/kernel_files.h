// The kernels of an artifact over a few files: how they are called, and declared to the file
// that calls them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/print/names.h"

namespace relay::aot {

// Hands out the names of kernels' functions, whatever the kernels are called: each only once, none
// that C, CUDA or the texts of aot/support have, and none that ends like NAME_messages, the texts
// of a kernel's failures.
class KernelNames {
 public:
  // Nobody is given this one.
  void take(std::string_view name) { names_.take(name); }
  std::string name(Symbol kernel, std::string_view prefix = "");

 private:
  kernel::print::Names names_;
};

// The types of a kernel's parameters that are memory: `const float*`, `float*`.
std::vector<std::string> pointer_types(const kernel::Kernel& k);

// What failed where a run ends with the code of an external kernel's C function.
std::string name_of_function(const kernel::Kernel& k);

// The texts of kernels as those of so many files, or of fewer if there are fewer kernels; of one if
// there are none. Kernels go round over the files, the longest first, so that the files take about
// equally long to compile.
std::vector<std::string> spread(std::vector<std::string> kernels, size_t files);

}  // namespace relay::aot
