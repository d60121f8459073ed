// The files of tests/golden and tests/exec: an input and what is expected of it, in one text.
//
//   RUN opt --passes=fold-constants
//   What the test shows, in a line or a few.
//   ---- input
//   def @main() { ... }
//   ---- output
//   def @main() { ... }
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/test_files/malformed.h"

namespace relay::tools {

struct TestFile {
  std::string path;
  std::string command;  // what follows RUN
  std::string about;
  std::vector<std::pair<std::string, std::string>> sections;  // name, text; in order

  const std::string* find(std::string_view section) const;  // null if there is none
  void set(std::string_view section, std::string text);     // replaces or appends
  std::string text() const;                                 // as it stands in the file
};

// Throws Malformed naming the file for what is not such a text.
TestFile read_test_file(const std::string& path);

// Does a command run the file as an exec test? Options may follow its name.
bool is_exec(std::string_view command);

// All `*.relay` files beneath a folder, sorted. Paths begin with the folder. Throws Malformed
// if there are none.
std::vector<std::string> test_files_beneath(const std::string& folder);

// The calls of an exec test: the lines of its section `calls`, without comments ("// why")
// and blank lines.
std::vector<std::string> call_lines(const TestFile& file);

}  // namespace relay::tools
