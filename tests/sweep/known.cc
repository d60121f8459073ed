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
    const size_t first = line.find(kBetween), last = line.rfind(kBetween);
    if (first == std::string::npos || first == last)
      throw std::runtime_error(cat(path, ": a line is `operator | part | reason`: ", line));
    const size_t begin = first + kBetween.size();
    out.push_back({line.substr(0, first), line.substr(begin, last - begin), line.substr(last + kBetween.size())});
    if (out.back().part.empty() || out.back().reason.empty())
      throw std::runtime_error(cat(path, ": a line needs a part of the finding and a reason: ", line));
  }
  return out;
}

const Known* explain(const std::vector<Known>& all, std::string_view op, std::string_view finding) {
  for (const Known& k : all) {
    if ((k.op == "*" || k.op == op) && finding.find(k.part) != std::string_view::npos) return &k;
  }
  return nullptr;
}

}  // namespace relay::sweep
