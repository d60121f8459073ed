// A GPU as the code of functions over values sees it: kernels are launches in the
// stream of the run.
#pragma once

#include <map>

#include "aot/device_library.h"
#include "kernel/print/print.h"

namespace relay::aot::cuda {

class CudaDeviceLibrary : public DeviceLibrary {
 public:
  // The kernels as they were printed.
  explicit CudaDeviceLibrary(const std::map<Symbol, kernel::print::Printed>& printed) : printed_(printed) {}

  std::string name(const kernel::Kernel& k) const override { return printed_.at(k.name).function; }
  // The heap has tensors of one stream: memory that is given back is taken again at once, and as
  // cheap as a place in an arena.
  bool has_arenas() const override { return false; }
  std::string run(const kernel::Kernel& k, const std::vector<std::string>& values,
                  const std::vector<std::string>& extents) override;
  std::string read(const std::string& name, const std::string& value, size_t element) const override;
  std::string truth(const std::string& value, size_t number, std::vector<std::string>& lines) const override;

 private:
  const std::map<Symbol, kernel::print::Printed>& printed_;
};

}  // namespace relay::aot::cuda
