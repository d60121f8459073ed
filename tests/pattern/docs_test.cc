// The examples of docs/patterns.md can be read, and there is one of each kind.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "op/operators.h"
#include "pattern/text.h"

namespace relay::pattern {
namespace {

std::string page() {
  std::ifstream in("docs/patterns.md");
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The cells of a row of a table; `\|` is a character of a cell.
std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> out{""};
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') {
      out.back() += row[++i];
    } else if (row[i] == '|') {
      out.emplace_back();
    } else {
      out.back() += row[i];
    }
  }
  return out;
}

// What stands between backquotes.
std::vector<std::string> quoted(const std::string& cell) {
  std::vector<std::string> out;
  for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at)) {
    const size_t end = cell.find('`', at + 1);
    out.push_back(cell.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return out;
}

std::set<Kind> kinds_of(const std::string& text) {
  Diagnostics diagnostics;
  ParseOptions options;
  options.into = *relay::parse("f", "def @f(%x: float32) { %x }", diagnostics, op::operators());
  const Result<Pattern> p = parse("docs/patterns.md", text, diagnostics, options);
  EXPECT_TRUE(p.ok()) << text << "\n" << diagnostics.render(options.into.context().sources());
  std::set<Kind> out;
  std::vector<Pattern> pending;
  if (p) pending.push_back(*p);
  while (!pending.empty()) {
    const Pattern next = pending.back();
    pending.pop_back();
    out.insert(next->kind);
    pending.insert(pending.end(), next->children.begin(), next->children.end());
  }
  return out;
}

TEST(PatternDocs, ExamplesCanBeRead) {
  std::istringstream lines(page());
  std::set<Kind> kinds;
  size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> row = cells(line);
    if (row.size() != 6 || row[2].find('`') == std::string::npos) continue;
    ++rows;
    for (const std::string& example : quoted(row[2])) kinds.merge(kinds_of(example));
  }
  EXPECT_EQ(rows, 17u);
  EXPECT_EQ(kinds.size(), 17u);
}

TEST(PatternDocs, TheFirstExampleCanBeRead) {
  const std::string text = page();
  const size_t begin = text.find("```\n") + 4;
  EXPECT_TRUE(kinds_of(text.substr(begin, text.find("```", begin) - begin)).contains(Kind::kAlt));
}

}  // namespace
}  // namespace relay::pattern
