// What the sweep is known to find: tests/sweep/known.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relay::sweep {

// A line explains a finding of its operator if the finding's text and the program have these parts.
struct Known {
  std::string op;       // a name, or `*`
  std::string part;     // of the finding's text
  std::string program;  // a part of the program's text, or `*`
  std::string reason;   // why it stays
};

// The lines of the list: "operator | part | program | reason". Throws std::runtime_error for
// one that is not.
std::vector<Known> read_known(const std::string& path);

// The line that explains the finding; null if none does.
const Known* explain(const std::vector<Known>& all, std::string_view op, std::string_view finding,
                     std::string_view program);

}  // namespace relay::sweep
