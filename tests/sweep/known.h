// What the sweep is known to find: tests/sweep/known.txt.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace relay::sweep {

inline constexpr std::string_view kSweep = "sweep", kGradient = "gradients";  // the suites

// A line explains a finding of its suite and operator if the finding's text and the program have
// these parts.
struct Known {
  std::string suite;
  std::string op;
  std::string part;     // of the finding's text
  std::string program;  // a part of the program's text, or `*`
  std::string reason;   // why it stays
};

// The lines of the list: "suite | operator | part | program | reason". Throws std::runtime_error
// for one that is not.
std::vector<Known> read_known(const std::string& path);

// The lines of one test: a suite's of an operator.
class KnownOf {
 public:
  KnownOf(const std::vector<Known>& all, std::string_view suite, std::string_view op);

  // Returns the first line that explains the finding; null if none does.
  const Known* explain(std::string_view finding, std::string_view program);

  // Returns the lines that have explained nothing so far, as the list has them; an empty text if
  // each has.
  std::string unused() const;

 private:
  std::vector<const Known*> lines_;
  std::set<const Known*> used_;
};

}  // namespace relay::sweep
