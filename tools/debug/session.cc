// What the commands that run the program do, and where they leave it. Those that look at values
// are in views.cc.
#include "tools/debug/session.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>
#include <set>

#include "base/cat.h"
#include "base/counted.h"
#include "base/escape.h"
#include "op/registry.h"
#include "tools/debug/refused.h"
#include "tools/debug/trace.h"
#include "tools/debug/words.h"

namespace relay::tools::debug {
namespace {

using State = Execution::State;

// What is said has texts and names of files in it.
constexpr std::string_view kKept = "\n\t";

void no_arguments(std::string_view arguments, std::string_view command) {
  if (!arguments.empty()) throw Refused(cat("`", arguments, "` after `", command, "` means nothing"));
}

double tolerance_of(std::string_view text) {
  double out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong != std::errc() || end != text.data() + text.size() || !(out >= 0) || std::isinf(out))
    throw Refused(cat("the tolerance `", text, "` is no number of at least 0, like 1e-5"));
  return out;
}

}  // namespace

Session::Session(Module m, bool is_listed, std::string function, std::vector<Value> args,
                 interp::Options limits, std::atomic<bool>* interrupt)
    : program_(std::move(m), is_listed),
      breakpoints_(program_),
      function_(std::move(function)),
      execution_(program_, function_, std::move(args), std::move(limits), breakpoints_, interrupt) {}

std::string Session::greeting() const { return harmless(standing(), kKept); }

std::string Session::execute(std::string_view line) {
  out_.clear();
  refusal_.clear();
  try {
    line = trimmed(line);
    if (line.starts_with('#')) return "";
    if (line.empty()) {
      if (!last_step_) throw Refused("there is no stepping command to repeat yet; `help` lists the commands");
      (this->*last_step_->run)({});
      return harmless(out_, kKept);
    }
    const auto [word, arguments] = first_word(line);
    const Command& command = find_command(word);
    (this->*command.run)(arguments);
    if (command.repeats) last_step_ = &command;
  } catch (const Refused& why) {
    refuse(why.what());
  } catch (const std::bad_alloc&) {
    without_memory_ = true;
    refuse("there is not enough memory for this");
  }
  return harmless(out_, kKept);
}

void Session::refuse(std::string_view why) {
  ever_refused_ = true;
  refusal_ = harmless(why, kKept);
  out_ += cat("refused: ", why, "\n");
}

Session::Verdict Session::verdict() const {
  // First: commands behind the end of a run at a limit may ask for what is not there.
  if (without_memory_ || execution_.state() == State::kExhausted) return Verdict::kExhausted;
  if (ever_refused_) return Verdict::kRefused;
  if (differs_) return Verdict::kDiffers;
  return execution_.state() == State::kTrapped ? Verdict::kTrapped : Verdict::kFine;
}

// --- running -------------------------------------------------------------------------------------

void Session::must_go_on() const {
  if (execution_.state() == State::kEnded)
    throw Refused("the program has ended; `restart` runs it from the beginning");
  if (execution_.over()) throw Refused("the program has failed; `restart` runs it from the beginning");
}

bool Session::stands() const { return execution_.state() != State::kEnded && execution_.place().e; }

void Session::moved() {
  frame_ = 0;
  if (execution_.value()) result_ = execution_.value();
  if (const Breakpoint* b = execution_.breakpoint())
    out_ += cat("breakpoint ", b->number, ": ", b->text(), "\n");
  if (execution_.interrupted()) out_ += "interrupted\n";
  out_ += standing();
}

std::string Session::standing() const {
  const Execution::Place& at = execution_.place();
  const std::string where = at.e ? place(0, at) : cat("the call of @", function_, "\n");
  switch (execution_.state()) {
    case State::kStart: return where;
    case State::kBefore: return cat("before ", where);
    case State::kValue: return cat("value of ", where, program_.value(execution_.value()));
    case State::kEnded: return cat("the program ended with\n", program_.value(execution_.value()));
    case State::kTrapped: return cat("trap in ", where, "  ", execution_.message(), "\n");
    case State::kExhausted: break;
  }
  return cat("exhausted in ", where, "  ", execution_.message(), "\n");
}

bool Session::at_start(size_t frame) const { return frame == 0 && execution_.state() == State::kStart; }

std::string Session::place(size_t frame, const Execution::Place& at) const {
  return at_start(frame) ? program_.start(at.fn()) : program_.place(at.e, at.fn());
}

void Session::step(std::string_view arguments) {
  no_arguments(arguments, "step");
  must_go_on();
  execution_.step();
  moved();
}

void Session::next(std::string_view arguments) {
  no_arguments(arguments, "next");
  must_go_on();
  execution_.next();
  moved();
}

void Session::finish(std::string_view arguments) {
  no_arguments(arguments, "finish");
  must_go_on();
  execution_.finish(frame());
  moved();
}

void Session::go(std::string_view arguments) {
  no_arguments(arguments, "continue");
  must_go_on();
  execution_.go();
  moved();
}

void Session::restart(std::string_view arguments) {
  no_arguments(arguments, "restart");
  execution_.restart();
  result_ = {};
  moved();
}

// --- breakpoints ---------------------------------------------------------------------------------

void Session::add_breakpoint(std::string_view arguments) {
  const Breakpoint& b = breakpoints_.add(arguments, file());
  out_ += cat("breakpoint ", b.number, ": ", b.text(), "\n");
}

void Session::list_breakpoints(std::string_view arguments) {
  no_arguments(arguments, "breakpoints");
  if (breakpoints_.all().empty()) out_ += "  none\n";
  for (const Breakpoint& b : breakpoints_.all())
    out_ += cat("  ", b.number, ": ", b.text(), ", hit ", counted(b.hits, "time"), "\n");
}

void Session::delete_breakpoint(std::string_view arguments) {
  const std::optional<uint64_t> number = whole_number(arguments);
  if (!number) throw Refused("`delete` needs the number of a breakpoint; `breakpoints` lists them");
  breakpoints_.remove(*number);
}

// --- traces --------------------------------------------------------------------------------------

void Session::from_the_beginning(const std::function<void()>& run) {
  execution_.restart();
  try {
    run();
  } catch (...) {
    execution_.restart();  // where it stood is between two stops
    frame_ = 0;
    throw;
  }
}

void Session::record(std::string_view arguments) {
  if (arguments.empty()) throw Refused("`record` needs a file to write the trace to");
  const std::string path(arguments);
  Recorder recorder(program_, function_);
  from_the_beginning([&] {
    execution_.watch([&](Expr e, const Value& v) {
      recorder.add(e, v);
      return recorder.too_large();
    });
  });
  moved();
  if (execution_.interrupted()) throw Refused("the run was interrupted, so no trace is written");
  recorder.write(path, execution_);
  out_ += cat("recorded ", counted(recorder.values(), "value"), " in ", path, "\n");
}

void Session::replay(std::string_view arguments) {
  // The last two words may be the tolerance; a name of a file may have blanks.
  std::optional<double> tolerance;
  if (const size_t at = arguments.rfind(" within"); at != std::string_view::npos) {
    tolerance = tolerance_of(trimmed(arguments.substr(at + 7)));
    arguments = trimmed(arguments.substr(0, at));
  }
  if (arguments.empty()) throw Refused("`replay` needs a file that `record` wrote");
  Replayer replayer(program_, std::string(arguments), tolerance);
  bool differs = false;
  from_the_beginning([&] {
    execution_.watch([&](Expr e, const Value& v) { return differs = replayer.differs(e, v); });
    if (!differs && !execution_.interrupted()) differs = replayer.ends_differently(execution_);
  });
  differs_ = differs;
  moved();
  if (execution_.interrupted())
    throw Refused(cat("the run was interrupted; ", counted(replayer.values(), "value"),
                      " so far, all as in the trace"));
  out_ += differs ? replayer.difference()
                  : cat("no difference: ", counted(replayer.values(), "value"), ", all as in the trace\n");
}

// --- the session ---------------------------------------------------------------------------------

void Session::help(std::string_view arguments) {
  out_ += arguments.empty() ? help_for_all() : help_for(find_command(arguments));
}

void Session::quit(std::string_view arguments) {
  no_arguments(arguments, "quit");
  ended_ = true;
}

std::vector<std::string> Session::complete(std::string_view before, std::string_view word) const {
  before = trimmed(before);
  if (before.empty()) return commands_beginning(word);
  std::set<std::string> all;
  const std::string_view command = first_word(before).first;
  const std::vector<std::string> meant = commands_beginning(command);
  const auto is = [&](std::string_view name) {
    return std::find(meant.begin(), meant.end(), name) != meant.end();
  };
  if (is("help")) {
    for (const Command& c : commands()) all.emplace(c.name);
  }
  if (is("break") || is("list")) {
    for (const auto& [name, fn] : program_.module().functions()) all.insert(cat("@", name.text()));
  }
  if (is("break")) {
    for (Expr e : program_.expressions()) {
      if (const op::OpDef* def = op::callee(e)) all.insert(def->name);
    }
    for (const std::string& name : program_.names().all()) all.insert(name);
  }
  if (is("print") || is("shape") || is("dtype") || is("statistics") || is("histogram")) {
    if (result_) all.insert("result");
    if (stands()) {
      for (const Named& n : names(frame())) {
        all.insert(n.name);
        if (n.name.starts_with('%')) all.insert(n.name.substr(1));
      }
    }
  }
  std::vector<std::string> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const std::string& s) { return s.starts_with(word); });
  return out;
}

}  // namespace relay::tools::debug
