// The RUN line of a golden test.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/test_files/test_file.h"

namespace relay::tests {

// The words of a RUN line: "read x.npz --names=a,b" is {"read", {"x.npz"}, {{"names", "a,b"}}}.
struct Command {
  std::string name;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> options;

  explicit Command(const std::string& line);
  std::string option(const std::string& key, const std::string& otherwise = "") const;
  size_t number(const std::string& key, size_t otherwise) const;
  std::vector<std::string> list(const std::string& key) const;  // its value, divided at commas
};

// Returns what no golden test has: an unknown command, an option or a section that the command does
// not know, a value that it does not take. Empty if there is no such thing. An option that nobody
// reads would be a test that does not test.
std::string misuse(const Command& command, const tools::TestFile& file);

}  // namespace relay::tests
