#include "tools/processor.h"

#include <fstream>

namespace relay::tools {

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t at = line.find_first_not_of(": \t", line.find(':'));
    if (at != std::string::npos) return line.substr(at);
  }
  return "unnamed processor";
}

}  // namespace relay::tools
