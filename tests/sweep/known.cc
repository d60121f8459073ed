#include "tests/sweep/known.h"

#include <fstream>
#include <stdexcept>

#include "base/cat.h"

namespace relay::sweep {
namespace {

constexpr std::string_view kBetween = " | ";

}  // namespace

std::vector<Known> read_known(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(cat("cannot read ", path));
  std::vector<Known> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> parts;
    for (size_t at = 0; at != std::string::npos;) {
      const size_t next = line.find(kBetween, at);
      parts.push_back(line.substr(at, next - at));
      at = next == std::string::npos ? next : next + kBetween.size();
    }
    if (parts.size() != 4 || parts[1].empty() || parts[2].empty() || parts[3].empty())
      throw std::runtime_error(cat(path, ": a line is `operator | part | program | reason`: ", line));
    out.push_back({parts[0], parts[1], parts[2], parts[3]});
  }
  return out;
}

const Known* explain(const std::vector<Known>& all, std::string_view op, std::string_view finding,
                     std::string_view program) {
  const auto has = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  for (const Known& k : all) {
    if (k.op != "*" && k.op != op) continue;
    if (has(finding, k.part) && (k.program == "*" || has(program, k.program))) return &k;
  }
  return nullptr;
}

}  // namespace relay::sweep
