#include "tests/sweep/known.h"

#include <algorithm>
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
    const bool empty = std::any_of(parts.begin(), parts.end(), [](const auto& p) { return p.empty(); });
    if (parts.size() != 5 || empty || (parts[0] != kSweep && parts[0] != kGradient))
      throw std::runtime_error(cat(path, ": a line is `suite | operator | part | program | reason`: ", line));
    out.push_back({parts[0], parts[1], parts[2], parts[3], parts[4]});
  }
  return out;
}

KnownOf::KnownOf(const std::vector<Known>& all, std::string_view suite, std::string_view op) {
  for (const Known& k : all) {
    if (k.suite == suite && k.op == op) lines_.push_back(&k);
  }
}

const Known* KnownOf::explain(std::string_view finding, std::string_view program) {
  const auto has = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  for (const Known* k : lines_) {
    if (!has(finding, k->part) || (k->program != "*" && !has(program, k->program))) continue;
    used_.insert(k);
    return k;
  }
  return nullptr;
}

std::string KnownOf::unused() const {
  std::string out;
  for (const Known* k : lines_) {
    if (!used_.contains(k))
      out += cat(k->suite, kBetween, k->op, kBetween, k->part, kBetween, k->program, "\n");
  }
  return out;
}

}  // namespace relay::sweep
