// relay debug: runs a model on the reference interpreter, one step at a time (docs/debugging.md).
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/cat.h"
#include "base/file.h"
#include "tools/debug/refused.h"
#include "tools/debug/session.h"
#include "tools/debug/terminal.h"
#include "tools/limits.h"
#include "tools/model.h"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

constexpr const char* kPrompt = "(relay) ";
constexpr uint64_t kMostScriptBytes = uint64_t{1} << 26;

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::string script;
  std::vector<std::string> breakpoints;
  interp::Options limits;
};

int exit_code_of(debug::Session::Verdict verdict) {
  switch (verdict) {
    case debug::Session::Verdict::kFine: return kOk;
    case debug::Session::Verdict::kRefused: return kUsage;
    case debug::Session::Verdict::kDiffers:
    case debug::Session::Verdict::kTrapped: return kMismatch;
    case debug::Session::Verdict::kExhausted: break;
  }
  return kLimit;
}

// What a line gave; as a script has it, the line stands before it.
void show(const std::string& line, const std::string& output, bool echo, const Session& s) {
  if (s.json) {
    s.print_json({{"command", line}, {"output", output}}, -1);
  } else {
    s.print(echo && !s.quiet ? cat(kPrompt, line, "\n", output) : output);
  }
}

void follow(debug::Session& session, std::istream& script, const Session& s) {
  if (s.json) {
    show("", session.greeting(), false, s);
  } else {
    s.print(session.greeting());
  }
  for (std::string line; !session.ended() && s.lost == 0 && std::getline(script, line);) {
    if (line.ends_with('\r')) line.pop_back();
    show(line, session.execute(line), true, s);
  }
}

void converse(debug::Session& session, const Session& s) {
  s.say("`help` lists the commands\n");
  if (!debug::edits_lines())
    s.say("there is no libreadline.so.8, so lines have no history: apt-get install libreadline8\n");
  s.print(session.greeting());
  const auto complete = [&](std::string_view before, std::string_view word) {
    return session.complete(before, word);
  };
  while (!session.ended() && s.lost == 0) {
    const std::optional<std::string> line = debug::read_line(kPrompt, complete);
    if (!line) {
      s.print("\n");
      return;
    }
    s.print(session.execute(*line));
  }
}

void run(const Options& o, Session& s) {
  Result<driver::Model> model = load_model(with_examples(o.model, o.inputs), s);
  if (!model) return;
  Result<std::vector<Value>> args = make_inputs(*model, o.inputs, s);
  if (!args) return;
  std::istringstream script;
  if (!o.script.empty()) {
    std::string text;
    if (std::string wrong = read_file(o.script, kMostScriptBytes, text); !wrong.empty()) {
      s.fail(kUsage, wrong);
      return;
    }
    script.str(std::move(text));
  }
  const bool terminal = o.script.empty() && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !s.json;
  std::optional<debug::Interrupts> interrupts;
  if (terminal) interrupts.emplace();
  debug::Session session(model->module, model->is_listed, model->function, *args, o.limits,
                         interrupts ? interrupts->flag() : nullptr);
  for (const std::string& b : o.breakpoints) {
    const std::string answer = session.execute(cat("break ", b));
    if (!session.refused()) continue;
    s.fail(exit_code_of(session.verdict()), cat("--break ", b, ": ", answer.substr(0, answer.size() - 1)));
    return;
  }
  if (terminal) {
    converse(session, s);
    return;
  }
  follow(session, o.script.empty() ? std::cin : script, s);
  s.exit_code = exit_code_of(session.verdict());
}

}  // namespace

void add_debug(Command app, Session& session) {
  auto o = std::make_shared<Options>();
  Command sub = app.command("debug", "run a model one step at a time, and look at its values");
  add_model_options(sub, o->model);
  add_library_option(sub, o->model);
  add_input_options(sub, o->inputs);
  sub.option("--script", &o->script,
             "a file of commands; without it they come from the terminal or standard input");
  sub.option("--break", &o->breakpoints,
             "a line, FILE:LINE, an operator, @global, the name of a value (%y, or of an ONNX model a "
             "tensor or a node) or * for every call, perhaps with a condition, as in \"* if nan|inf\"; may "
             "be repeated")
      .one_at_a_time();
  add_limit_options(sub, o->limits);
  sub.action([o, &session] { run(*o, session); });
}

}  // namespace relay::tools
