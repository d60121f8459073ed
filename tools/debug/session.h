// Session: a person, or a script, at the debugger: lines in, texts out.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "interp/machine.h"
#include "tools/debug/breakpoints.h"
#include "tools/debug/commands.h"
#include "tools/debug/execution.h"
#include "tools/debug/program.h"

namespace relay::tools::debug {

class Session {
 public:
  // How the session stands, for an exit code.
  enum class Verdict { kFine, kRefused, kDiffers, kTrapped, kExhausted };

  Session(Module m, bool is_listed, std::string function, std::vector<Value> args, interp::Options limits,
          std::atomic<bool>* interrupt = nullptr);
  Session(const Session&) = delete;

  // Where the program stands at first.
  std::string greeting() const;
  // Does what the line says and returns what there is to say about it.
  std::string execute(std::string_view line);
  bool ended() const { return ended_; }
  bool refused() const { return !refusal_.empty(); }  // the last line could not be done
  const std::string& refusal() const { return refusal_; }
  Verdict verdict() const;

  // For programs that look at the values themselves.
  struct Named {  // a value that has a name in a frame
    std::string name;
    Value value;
  };
  const Program& program() const { return program_; }
  const Execution& execution() const { return execution_; }
  const Breakpoints& breakpoints() const { return breakpoints_; }
  std::vector<Named> names(const Execution::Place& place) const;      // inner ones last
  std::string place(size_t frame, const Execution::Place& at) const;  // and its line of the text

  // Words that may stand where `word` begins, after `before` on the line.
  std::vector<std::string> complete(std::string_view before, std::string_view word) const;

  // One a command, for the table. They say what there is to say in out_ and throw Refused.
  void step(std::string_view arguments);
  void next(std::string_view arguments);
  void finish(std::string_view arguments);
  void go(std::string_view arguments);
  void restart(std::string_view arguments);
  void add_breakpoint(std::string_view arguments);
  void list_breakpoints(std::string_view arguments);
  void delete_breakpoint(std::string_view arguments);
  void print(std::string_view arguments);
  void shape(std::string_view arguments);
  void dtype(std::string_view arguments);
  void statistics(std::string_view arguments);
  void histogram(std::string_view arguments);
  void env(std::string_view arguments);
  void backtrace(std::string_view arguments);
  void up(std::string_view arguments);
  void down(std::string_view arguments);
  void where(std::string_view arguments);
  void list(std::string_view arguments);
  void record(std::string_view arguments);
  void replay(std::string_view arguments);
  void help(std::string_view arguments);
  void quit(std::string_view arguments);

 private:
  void refuse(std::string_view why);
  void from_the_beginning(const std::function<void()>& run);  // and to there again if it throws
  void must_go_on() const;                                    // throws Refused if the program is over
  bool stands() const;                                        // at an expression: it has begun and not ended
  void moved();  // after the program went on: says where it stands
  std::string standing() const;
  Execution::Place frame() const;  // that `up` and `down` chose; throws Refused if there is none
  bool at_start(size_t frame) const;
  uint32_t file() const;  // of the current place; 0 if it has none
  void choose(uint64_t number);
  Named named(std::string_view name) const;  // with a slice, perhaps
  Tensor tensor(std::string_view name) const;

  Program program_;
  Breakpoints breakpoints_;
  std::string function_;
  Execution execution_;
  size_t frame_ = 0;
  Value result_;
  const Command* last_step_ = nullptr;
  std::string out_, refusal_;
  bool ended_ = false, ever_refused_ = false, differs_ = false;
  bool without_memory_ = false;  // a command was refused for that
};

}  // namespace relay::tools::debug
