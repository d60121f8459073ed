// The blocks of code of a page of docs/, for tests that run what a page shows.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace relay::tests {

struct PageBlock {
  std::string kind;  // "relay", "calls", "console"
  std::string name;  // of "relay first.relay": the file that the block is, or empty
  std::string text;  // with the end of its last line
  size_t line = 0;   // of its first line, counted from 1
};

// Throws std::runtime_error if the page cannot be read or its last block does not end.
std::vector<PageBlock> blocks_of(const std::string& page);

// Writes the page into the checkout of `bazel run`, with the texts that the blocks have now.
void rewrite(const std::string& page, const std::vector<PageBlock>& blocks);

// Does the text have the form? "..." in a line of the form stands for any part of a line, and a
// line "..." for any number of lines, also none.
bool fits(const std::string& text, const std::string& form);

}  // namespace relay::tests
