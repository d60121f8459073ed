#include "target/system.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "base/trimmed.h"

namespace relay::target {
namespace {

// The words around the first colon of the line, without blanks.
struct Field {
  std::string name, value;
};

Field field_of(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  return {std::string(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1)))};
}

// `0x3` is 3. Other texts stay what they are.
std::string decimal(const std::string& text) {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  if (!text.starts_with("0x") || std::from_chars(text.data() + 2, end, value, 16).ptr != end) return text;
  return cat(value);
}

// The first line of a small file; empty if it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::string name_in_cpuinfo(const std::string& cpuinfo) {
  std::vector<std::string> designs;
  std::string model, implementer, part, variant;
  std::istringstream in(cpuinfo);
  for (std::string line; std::getline(in, line);) {
    const auto [name, value] = field_of(line);
    if (name == "model name" && model.empty()) model = value;
    if (name == "CPU implementer") implementer = value;
    if (name == "CPU variant") variant = decimal(value);
    if (name == "CPU part") part = value;
    if (name != "CPU revision" || implementer.empty()) continue;
    // The last of the four, of every core.
    std::string design = cat(implementer, ":", part, " r", variant, "p", decimal(value));
    if (std::find(designs.begin(), designs.end(), design) == designs.end()) designs.push_back(design);
  }
  // Linux calls some ARM cores `ARMv8 Processor rev 1 (v8l)`, whatever their design.
  if (!designs.empty()) return join(designs, " + ");
  return model.empty() ? "unnamed processor" : model;
}

int64_t cache_in_sysfs(const std::string& folder, int level) {
  constexpr int kMostCaches = 16;  // a core has four or five
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string cache = cat(folder, "/index", i);
    const std::string type = first_line(cache + "/type"), size = first_line(cache + "/size");
    if (type.empty()) return 0;
    if (type == "Instruction" || first_line(cache + "/level") != cat(level)) continue;
    int64_t kilobytes = 0;
    const char* end = size.data() + size.size();
    const auto [unit, wrong] = std::from_chars(size.data(), end, kilobytes);
    constexpr int64_t kMost = int64_t{1} << 30;
    const bool known = wrong == std::errc() && unit + 1 == end && *unit == 'K' && kilobytes > 0;
    return known && kilobytes <= kMost ? kilobytes * 1024 : 0;
  }
  return 0;
}

}  // namespace relay::target
