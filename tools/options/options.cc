#include "tools/options/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

#include "base/cat.h"

namespace relay::tools {
namespace {

using Time = std::optional<std::chrono::nanoseconds>;

CLI::Option* add(CLI::App& app, const std::string& names, Time* time, const std::string& help) {
  const std::function<void(const double&)> write = [time](const double& seconds) {
    *time = std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, 9e9) * 1e9));
  };
  return app.add_option_function(names, write, help);
}

template <class T>
CLI::Option* add(CLI::App& app, const std::string& names, T* variable, const std::string& help) {
  return app.add_option(names, *variable, help);
}

KnownOption known(const CLI::Option& option) {
  KnownOption out{{}, option.get_type_name(), option.get_expected_max() > 0};
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  return out;
}

Parsed refused(const CLI::App& app, const CLI::ParseError& e) {
  Parsed out{.end = Parsed::End::kRefused, .text = e.what(), .unknown = app.remaining(/*recurse=*/true)};
  // The library counts: "--engine: 1 required ENGINE missing".
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e))
    out.text = cat(out.text.substr(0, out.text.find(':')), " needs a value");
  if (const std::vector<CLI::App*> chosen = app.get_subcommands(); !chosen.empty())
    out.command = Command(chosen[0]);
  return out;
}

}  // namespace

// --- options -------------------------------------------------------------------------------------

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::check(Check check) {
  option_->transform(CLI::Validator(std::move(check.read), std::move(check.shown)));
  return *this;
}

Option Option::kind(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::hidden() {
  option_->group("");
  return *this;
}

Option Option::expects(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Option Option::separated_by_commas() {
  option_->delimiter(',');
  return *this;
}

Option Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

// --- commands ------------------------------------------------------------------------------------

Command Command::command(const std::string& name, const std::string& about) {
  app_->require_subcommand(1);
  app_->fallthrough();
  return Command(app_->add_subcommand(name, about));
}

Option Command::option(const std::string& names, Variable variable, const std::string& help) {
  return std::visit([&](auto* v) { return Option(add(*app_, names, v, help)); }, variable);
}

void Command::flag(const std::string& names, bool* given, const std::string& help) {
  app_->add_flag(names, *given, help);
}

void Command::action(std::function<void()> action) { app_->callback(std::move(action)); }

void Command::footer(const std::string& text) { app_->footer(text); }

std::string Command::name() const { return app_->get_name(); }

std::string Command::help() const {
  // App::help would give that of the command that was parsed.
  const CLI::App* program = app_->get_parent();
  const std::string called = program ? cat(program->get_name(), " ", name()) : name();
  return app_->get_formatter()->make_help(app_, called, CLI::AppFormatMode::Normal);
}

std::vector<Command> Command::commands() const {
  std::vector<Command> out;
  for (CLI::App* command : app_->get_subcommands([](CLI::App*) { return true; })) out.emplace_back(command);
  return out;
}

std::vector<KnownOption> Command::options() const {
  std::vector<KnownOption> out;
  for (const CLI::App* app = app_; app; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) out.push_back(known(*option));
  }
  return out;
}

bool Command::given(const std::string& option) const {
  const CLI::Option* found = app_->get_option_no_throw(option);
  return found && found->count() > 0;
}

// --- command lines -------------------------------------------------------------------------------

CommandLine::CommandLine(const std::string& about, const std::string& name)
    : app_(std::make_unique<CLI::App>(about, name)) {}

CommandLine::~CommandLine() = default;

void CommandLine::add_version_flag(const std::string& help) { app_->set_version_flag("--version", "", help); }

Parsed CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return {};
  } catch (const CLI::CallForHelp&) {
    return {.end = Parsed::End::kAsksHelp, .text = app_->help()};
  } catch (const CLI::CallForVersion&) {
    return {.end = Parsed::End::kAsksVersion};
  } catch (const CLI::ParseError& e) {
    return refused(*app_, e);
  }
}

std::optional<int> CommandLine::parse_or_report(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    return app_->exit(e);
  }
}

}  // namespace relay::tools
