#include "tests/docs/page.h"

#include <fstream>
#include <sstream>
#include <string_view>

#include "tests/support/checkout.h"

namespace relay::tests {
namespace {

constexpr std::string_view kFence = "```", kAny = "...";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// One line: its parts between wildcards, each at the first place after the part before, the
// last one at the end.
bool line_fits(std::string_view line, std::string_view form) {
  bool first = true;
  while (true) {
    const size_t wildcard = form.find(kAny);
    const std::string_view part = form.substr(0, wildcard);
    if (wildcard == std::string_view::npos) return first ? line == part : line.ends_with(part);
    const size_t at = first ? (line.starts_with(part) ? 0 : std::string_view::npos) : line.find(part);
    if (at == std::string_view::npos) return false;
    line.remove_prefix(at + part.size());
    form.remove_prefix(wildcard + kAny.size());
    first = false;
  }
}

}  // namespace

std::vector<PageBlock> blocks_of(const std::string& page) {
  std::ifstream in(page);
  if (!in) throw std::runtime_error(page + ": cannot be read");
  std::vector<PageBlock> out;
  bool inside = false;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with(kFence)) {
      inside = !inside;
      if (!inside) continue;
      PageBlock block{.line = number + 1};
      std::istringstream(line.substr(kFence.size())) >> block.kind >> block.name;
      out.push_back(block);
    } else if (inside) {
      out.back().text += line + "\n";
    }
  }
  if (inside) throw std::runtime_error(page + ": the last block does not end");
  return out;
}

void rewrite(const std::string& page, const std::vector<PageBlock>& blocks) {
  std::ifstream in(page);
  std::string out;
  size_t next = 0;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const bool fence = line.starts_with(kFence);
    if (fence || !inside) out += line + "\n";
    if (!fence) continue;
    inside = !inside;
    if (inside) out += blocks.at(next++).text;
  }
  in.close();
  std::ofstream(in_checkout(page)) << out;
}

bool fits(const std::string& text, const std::string& form) {
  const std::vector<std::string> lines = lines_of(text), wanted = lines_of(form);
  // reached[i]: the first i lines fit what was looked at of the form.
  std::vector<bool> reached(lines.size() + 1, false);
  reached[0] = true;
  for (const std::string& want : wanted) {
    std::vector<bool> next(lines.size() + 1, false);
    bool any = false;
    for (size_t i = 0; i <= lines.size(); ++i) {
      if (want == kAny) {
        any |= reached[i];
        next[i] = any;
      } else if (i > 0 && reached[i - 1]) {
        next[i] = line_fits(lines[i - 1], want);
      }
    }
    reached = next;
  }
  return reached.back();
}

}  // namespace relay::tests
