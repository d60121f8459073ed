// The parts of generated functions that differ between CPU and GPU: how to run a kernel, read an
// element, and test a condition. The run-time code that these texts call is in
// support/cpu_values.cc and support/cuda_values.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "target/target.h"

namespace relay::aot {

class DeviceLibrary {
 public:
  virtual ~DeviceLibrary() = default;

  // What the kernel is called in names of C++.
  virtual std::string name(const kernel::Kernel& k) const = 0;
  // Can a tensor lie in memory that the function has planned (arenas.h)?
  virtual bool has_arenas() const = 0;
  // Lines that run the kernel on these values, its inputs, outputs and temporaries, and with these
  // shape parameters. The function around them ends where the run does.
  virtual std::string run(const kernel::Kernel& k, const std::vector<std::string>& values,
                          const std::vector<std::string>& extents) = 0;
  // Lines that define the int64 `name` as an element of the int64 tensor `value`.
  virtual std::string read(const std::string& name, const std::string& value, size_t element) const = 0;
  // What is true where the boolean `value` is, after `lines`, which it adds to; `number` is
  // in no other name.
  virtual std::string truth(const std::string& value, size_t number,
                            std::vector<std::string>& lines) const = 0;
};

// Of a processor that the host's threads are of.
class CpuDeviceLibrary : public DeviceLibrary {
 public:
  using KernelName = std::function<std::string(const kernel::Kernel&)>;
  CpuDeviceLibrary(KernelName name, const target::Cpu& cpu) : name_(std::move(name)), cpu_(cpu) {}

  std::string name(const kernel::Kernel& k) const override { return name_(k); }
  bool has_arenas() const override { return true; }
  std::string run(const kernel::Kernel& k, const std::vector<std::string>& values,
                  const std::vector<std::string>& extents) override;
  std::string read(const std::string& name, const std::string& value, size_t element) const override;
  std::string truth(const std::string& value, size_t number, std::vector<std::string>& lines) const override;

 private:
  KernelName name_;
  const target::Cpu& cpu_;
  size_t alternating_ = 0;  // kernels that go to and fro
};

}  // namespace relay::aot
