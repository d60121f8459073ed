// The terminal: lines with editing, history and completion, and control-C.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relay::tools::debug {

// Words that may stand where `word` begins, after `before` on the line.
using Complete = std::function<std::vector<std::string>(std::string_view before, std::string_view word)>;

// Returns true if lines are edited, completed and kept. False if this machine has no libreadline:
// then `read_line` takes them as they come.
bool edits_lines();

// The next line that is typed; nothing when there are no more (control-D). What was typed
// before is its history.
std::optional<std::string> read_line(const char* prompt, const Complete& complete);

// While in scope, control-C makes the flag true and does not end the process.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  std::atomic<bool>* flag() const;
};

}  // namespace relay::tools::debug
