#include "tests/support/uncapped.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "base/cat.h"

namespace relay::tests {

UncappedList::UncappedList(std::string path) : path_(std::move(path)) {
  std::ifstream in(path_);
  EXPECT_TRUE(in.good()) << "there is no " << path_;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t end = line.find(": ");
    EXPECT_TRUE(end != std::string::npos && end + 2 < line.size()) << path_ << ": no reason: " << line;
    EXPECT_TRUE(
        listed_.emplace(line.substr(0, end), end == std::string::npos ? "" : line.substr(end + 2)).second)
        << path_ << " has it twice: " << line;
  }
}

void UncappedList::saw(const std::string& name, std::string_view why) {
  if (why.empty()) return;
  const std::string line = cat(why, " ", name);
  if (!seen_.insert(line).second) return;
  EXPECT_TRUE(listed_.contains(line))
      << "a bound without a cap: if that is right, " << path_ << " needs the line, and why\n"
      << line << ": ...";
}

void UncappedList::finish(std::string_view prefix) const {
  for (const auto& [line, reason] : listed_) {
    if (!std::string_view(line).substr(line.find(' ') + 1).starts_with(prefix)) continue;
    EXPECT_TRUE(seen_.contains(line)) << "the bound is capped now: take the line off " << path_ << "\n"
                                      << line;
  }
}

}  // namespace relay::tests
