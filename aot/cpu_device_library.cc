#include "aot/alternation.h"
#include "aot/device_library.h"
#include "aot/kernel_files.h"
#include "base/cat.h"
#include "base/escape.h"
#include "kernel/print/dialect.h"

namespace relay::aot {

std::string CpuDeviceLibrary::run(const kernel::Kernel& k, const std::vector<std::string>& values,
                                  const std::vector<std::string>& extents) {
  std::vector<std::string> arguments{alternates(k, cpu_) ? cat("run.device->alternate(", alternating_++, ")")
                                                         : "run.device->parallel"};
  const auto add = [&](const List<const kernel::Buffer*>& buffers, std::string_view access) {
    for (const kernel::Buffer* b : buffers)
      arguments.push_back(cat("data<", access, kernel::print::memory_type(b->dtype), ">(",
                              values[arguments.size() - 1], ")"));
  };
  add(k.inputs, "const ");
  add(k.outputs, "");
  add(k.temporaries, "");
  arguments.insert(arguments.end(), extents.begin(), extents.end());
  const std::string name = name_(k);
  return cat("  const int32_t status = ", name, "(", join(arguments, ", "), ");\n",
             "  if (status != 0) return ",
             k.external ? cat("run.fail(run.stop->failed(status), ", c_string(name_of_function(k)), ")")
                        : cat("run.trap(", name, "_messages[status - 1])"),
             ";\n");
}

std::string CpuDeviceLibrary::read(const std::string& name, const std::string& value, size_t element) const {
  return cat("  [[maybe_unused]] const int64_t ", name, " = data<const int64_t>(", value, ")[", element,
             "];\n");
}

std::string CpuDeviceLibrary::truth(const std::string& value, size_t, std::vector<std::string>&) const {
  return cat("truth(", value, ")");
}

}  // namespace relay::aot
