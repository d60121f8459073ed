#include "tools/command_line.h"

#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/nearest.h"
#include "kernel/llvm/machine.h"
#include "runtime/relay.h"
#include "tools/completion.h"
#include "tools/version.h"

namespace relay::tools {
namespace {

// The command line as the user has to write it, up to the options.
std::string command_of(const CLI::App& app) {
  std::string out = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) out += cat(" ", sub->get_name());
  return out;
}

void add_help(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("help", "explain a command: the same as relay COMMAND --help");
  auto name = std::make_shared<std::string>();
  sub->add_option("command", *name, "a command, such as run")->type_name("COMMAND");
  sub->callback([&app, &session, name] {
    const CLI::App* command = name->empty() ? &app : find_command(app, *name);
    if (command) {
      // App::help would give that of the command that was parsed, which is this one.
      const std::string called = command == &app ? "relay" : "relay " + command->get_name();
      session.print(app.get_formatter()->make_help(command, called, CLI::AppFormatMode::Normal));
    } else {
      session.fail(kUsage, no_such("command", *name, command_names(app)));
    }
  });
}

// The argument of an ExtrasError that looks like an option; empty if none does.
std::string unknown_option(const CLI::App& app) {
  for (const std::string& argument : app.remaining(true)) {
    if (argument.starts_with("-") && argument.size() > 1) return argument.substr(0, argument.find('='));
  }
  return {};
}

}  // namespace

void add_commands(CLI::App& app, Session& session) {
  app.name("relay");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", session.json, "print results as JSON, and errors as one JSON object a line");
  app.add_flag("-q,--quiet", session.quiet, "print results only");
  app.set_version_flag("--version", "", "print the version of Relay and of its formats");
  for (auto* add :
       {add_demo, add_run, add_debug, add_compile, add_check, add_fmt, add_opt, add_import, add_graph,
        add_ops, add_bench, add_verify, add_doctor, add_explain, add_help, add_completion}) {
    add(app, session);
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
    sub->footer("Every command has --json (results as JSON) and -q,--quiet (results only).");
}

std::string misuse(CLI::App& app, const CLI::ParseError& e) {
  const std::vector<std::string> rest = app.remaining();
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const std::vector<std::string> names = command_names(app);
    const std::string wrong = rest.empty() ? cat("a command is needed; there are: ", join(names, ", "))
                                           : no_such("command", rest[0], names);
    return cat(wrong, "; see relay --help");
  }
  const std::string where = cat("see ", command_of(app), " --help");
  if (const std::string option = unknown_option(app); !option.empty()) {
    const std::string near = did_you_mean(option, option_names(*chosen[0]));
    return cat("there is no option `", option, "`; ", near.empty() ? "" : cat(near, " "), where);
  }
  const std::string said = e.what();
  // The library counts: "--engine: 1 required ENGINE missing".
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e))
    return cat(said.substr(0, said.find(':')), " needs a value; ", where);
  return cat(said, "; ", where);
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
