// What all subcommands share: exit codes, output, options that every one of them has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/stopwatch.h"
#include "ir/module.h"

namespace relay::tools {

class Command;

// docs/command-line.md; the same numbers as relay_status of runtime/relay.h where they overlap.
enum ExitCode {
  kOk = 0,
  kMismatch = 1,     // verify: engines differ. run: the program trapped
  kUsage = 2,        // wrong options, input names, shapes or dtypes
  kBadModel = 3,     // the model cannot be read or is wrong
  kUnsupported = 4,  // the model is right, but something in it, or on this machine, is not supported
  kLimit = 5,        // a limit was reached
  kInternal = 6,     // a bug of Relay's
};

// What the errors amount to, by what is at fault; `other` if it is the model.
int exit_code_of(const Diagnostics& diagnostics, int other = kBadModel);

struct Session {
  bool json = false;
  bool quiet = false;
  int exit_code = kOk;
  std::vector<std::string> arguments = {};  // of the command line, after `relay`
  mutable int lost = 0;                     // errno of the first result that did not reach standard output

  // Results go to standard output, everything else to standard error. `say` is silenced by --quiet.
  void print(std::string_view text) const;
  void print_json(const nlohmann::ordered_json& json, int indent = 2) const;
  void say(std::string_view text) const;
  // Renders the diagnostics to standard error and, if there are errors, sets the exit code; always
  // false, for `return s.fail(...)`. With --json each is one line, an object.
  bool fail(const Diagnostics& diagnostics, const SourceMap& sources, int other = kBadModel);
  bool fail(int code, std::string_view message);
  // What belongs to the refusal that was reported: what is known of the model nevertheless.
  void explain(std::string_view text, const nlohmann::ordered_json& json) const;
  // And what lifts it: the command line to give instead.
  void remedy(std::string_view what, std::string_view command) const;
  // Says that there is not enough memory, and needs none for it.
  void fail_without_memory() noexcept;
  // Reports results that were lost. A reader that went away has seen all it wanted.
  void finish();
};

// One line of progress on a terminal, for what takes more than a second; nothing elsewhere.
class Progress {
 public:
  Progress(const Session& session, std::string what);
  ~Progress();
  void step(std::string_view now);  // "verify: preparing graph -O2"
  // The same with how many of how many are done, and an estimate of the time that is left.
  void step(std::string_view now, size_t done, size_t total);

 private:
  bool shown_;
  std::string what_;
  Stopwatch since_begin_;
};

// One function a subcommand, in a file of its own.
void add_bench(Command app, Session& session);
void add_check(Command app, Session& session);
void add_completion(Command app, Session& session);
void add_compile(Command app, Session& session);
void add_debug(Command app, Session& session);
void add_demo(Command app, Session& session);
void add_doctor(Command app, Session& session);
void add_explain(Command app, Session& session);
void add_fmt(Command app, Session& session);
void add_graph(Command app, Session& session);
void add_import(Command app, Session& session);
void add_ops(Command app, Session& session);
void add_opt(Command app, Session& session);
void add_run(Command app, Session& session);
void add_verify(Command app, Session& session);

}  // namespace relay::tools
