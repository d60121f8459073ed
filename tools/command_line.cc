#include "tools/command_line.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/cat.h"
#include "base/check.h"
#include "base/nearest.h"
#include "kernel/llvm/machine.h"
#include "runtime/relay.h"
#include "tools/completion.h"
#include "tools/version.h"

namespace relay::tools {
namespace {

// What --help shows of each command: a line to begin with.
struct Example {
  std::string_view command, line;
};
constexpr Example kExamples[] = {
    {"demo", "relay demo --images 3"},
    {"run", "relay run model.onnx --inputs x.npz --engine jit"},
    {"debug", "relay debug model.relay --break \"nn.softmax if nan\""},
    {"compile", "relay compile model.onnx -o model.so"},
    {"check", "relay check model.onnx"},
    {"fmt", "relay fmt -w model.relay"},
    {"opt", "relay opt model.relay --passes fold-constants,fuse --print-after changed"},
    {"import", "relay import model.onnx -o model.relay"},
    {"graph", "relay graph graph.json"},
    {"ops", "relay ops nn.conv2d"},
    {"bench", "relay bench model.onnx --threads 2 --profile"},
    {"verify", "relay verify model.onnx --inputs inputs --every-op"},
    {"doctor", "relay doctor"},
    {"explain", "relay explain not-broadcastable"},
    {"help", "relay help run"},
    {"completion", "source <(relay completion bash)"},
};

std::string_view example_of(std::string_view command) {
  const auto* at = std::find_if(std::begin(kExamples), std::end(kExamples),
                                [&](const Example& e) { return e.command == command; });
  CHECK(at != std::end(kExamples), cat("`", command, "` has no example"));
  return at->line;
}

void add_help(Command app, Session& session) {
  Command sub = app.command("help", "explain a command: the same as relay COMMAND --help");
  auto name = std::make_shared<std::string>();
  sub.option("command", name.get(), "a command, such as run").kind("COMMAND");
  sub.action([app, &session, name] {
    if (const std::optional<Command> command = name->empty() ? app : find_command(app, *name)) {
      session.print(command->help());
    } else {
      session.fail(kUsage, no_such("command", *name, command_names(app)));
    }
  });
}

// The first unknown word that looks like an option; empty if none does.
std::string unknown_option(const Parsed& refused) {
  for (const std::string& argument : refused.unknown) {
    if (argument.starts_with("-") && argument.size() > 1) return argument.substr(0, argument.find('='));
  }
  return {};
}

}  // namespace

void add_commands(CommandLine& line, Session& session) {
  Command app = line.program();
  app.flag("--json", &session.json, "print results as JSON, and errors as one JSON object a line");
  app.flag("-q,--quiet", &session.quiet, "print results only");
  line.add_version_flag("print the version of Relay and of its formats");
  for (auto* add :
       {add_demo, add_run, add_debug, add_compile, add_check, add_fmt, add_opt, add_import, add_graph,
        add_ops, add_bench, add_verify, add_doctor, add_explain, add_help, add_completion}) {
    add(app, session);
  }
  for (Command sub : app.commands()) {
    sub.footer(cat("Every command has --json (results as JSON) and -q,--quiet (results only).\nExample: ",
                   example_of(sub.name())));
  }
}

std::string misuse(Command app, const Parsed& refused) {
  if (!refused.command) {
    const std::vector<std::string> names = command_names(app);
    const std::string wrong = refused.unknown.empty()
                                  ? cat("a command is needed; there are: ", join(names, ", "))
                                  : no_such("command", refused.unknown[0], names);
    return cat(wrong, "; see ", app.name(), " --help");
  }
  const std::string where = cat("see ", app.name(), " ", refused.command->name(), " --help");
  if (const std::string option = unknown_option(refused); !option.empty()) {
    const std::string near = did_you_mean(option, option_names(*refused.command));
    return cat("there is no option `", option, "`; ", near.empty() ? "" : cat(near, " "), where);
  }
  return cat(refused.text, "; ", where);
}

void print_version(const Session& session) {
  if (session.json) {
    session.print_json({{"relay", kVersion},
                        {"text", kTextVersion},
                        {"c_interface", RELAY_ABI_VERSION},
                        {"json", kJsonVersion},
                        {"llvm", kernel::llvm::code_generator_version()}});
    return;
  }
  session.print(cat("relay ", kVersion, "\ntext format ", kTextVersion, "\nC interface of artifacts ",
                    RELAY_ABI_VERSION, "\nJSON of results ", kJsonVersion, "\ncode generator ",
                    kernel::llvm::code_generator_version(), "\n"));
}

}  // namespace relay::tools
