// Outputs whose bound is not capped (docs/semantics.md, "How far an engine may be away"). Such a
// bound may hold nothing, and a mistake of the interpreter's widens it. So a test that compares
// engines has a list of them: one that is not listed fails, and so does a line that is not needed.
//
// A line has the reason that the reference gives, a name without blanks, and why the test has it:
//
//   ill-conditioned tests/exec/lang/grad.relay@f: the difference of two sums that are nearly equal
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace relay::tests {

class UncappedList {
 public:
  explicit UncappedList(std::string path);

  // Fails the test if the list lacks the output. `why` is empty if its bound is capped.
  void saw(const std::string& name, std::string_view why);
  // After all outputs whose names begin so: fails the test for each listed one that is capped.
  void finish(std::string_view prefix) const;

 private:
  std::string path_;
  std::map<std::string, std::string> listed_;  // "ill-conditioned name": why the test has it
  std::set<std::string> seen_;
};

}  // namespace relay::tests
