// The `relay` command. See docs/command-line.md; each subcommand has a file of its own.
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "base/cat.h"
#include "base/failure.h"
#include "base/interruption.h"
#include "tools/engines.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

// A write that fails is reported by whoever writes, and what it leaves is removed: no signal may end the program first.
// A file that is opened must not get the number of a standard stream that the caller closed, or results would go there;
// the place holders cannot be used in their stream's direction, so that writing to one fails.
void prepare_process() {
  // An exception that passes through the C library has it load what unwinds, and it aborts if there is no memory for that. This
  // has it loaded.
  void* caller;
  backtrace(&caller, 1);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  // A broken invariant aborts when it has said what it is (base/check.h).
  signal(SIGABRT, [](int) { _exit(kInternal); });
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
  }
}

// The command line as the user has to write it, up to the options.
std::string command_of(const CLI::App& app) {
  std::string out = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) out += cat(" ", sub->get_name());
  return out;
}

std::string misuse(CLI::App& app, const CLI::ParseError& e) {
  const std::vector<std::string> rest = app.remaining();
  if (!app.get_subcommands().empty()) return cat(e.what(), "; see ", command_of(app), " --help");
  const auto commands = app.get_subcommands([](CLI::App*) { return true; });
  return cat(rest.empty() ? std::string("a command is needed") : cat("there is no command `", rest[0], "`"),
             "; there are: ", join(commands, ", ", [](const CLI::App* c) { return c->get_name(); }),
             "; see relay --help");
}

void add_commands(CLI::App& app, Session& session) {
  app.name("relay");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", session.json, "print results as JSON");
  app.add_flag("-q,--quiet", session.quiet, "print results only");
  for (auto* add : {add_demo, add_run, add_debug, add_compile, add_check, add_fmt, add_opt, add_import,
                    add_graph, add_ops, add_bench, add_verify, add_doctor, add_explain}) {
    add(app, session);
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
    sub->footer("Every command has --json (results as JSON) and -q,--quiet (results only).");
}

// What a subcommand does not catch ends here; a bug aborts with a message of its own (base/check.h).
void run(int argc, char** argv, Session& session) {
  CLI::App app("Relay: a compiler for deep learning. Runs, checks, compiles and compares models.");
  add_commands(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    session.print(app.help());
  } catch (const CLI::ParseError& e) {
    session.fail(kUsage, misuse(app, e));
  } catch (const Trap& trap) {
    session.fail(kMismatch, cat("the program failed: ", trap.what()));
  } catch (const Exhausted& limit) {
    session.fail(kLimit, limit.what());
  } catch (const CannotPrepare& e) {
    session.fail(e.diagnostics, {});
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& e) {
    // Threads that cannot be started are a want of memory, too.
    if (e.code() == std::errc::not_enough_memory || e.code() == std::errc::resource_unavailable_try_again)
      throw std::bad_alloc();
    session.fail(kInternal, cat("internal error: ", e.what()));
  } catch (const std::exception& e) {
    session.fail(kInternal, cat("internal error: ", e.what()));
  }
}

// Whatever finds no memory ends here: the command, what it begins with, or the message that something else failed.
void run_within_memory(int argc, char** argv, Session& session) {
  try {
    run(argc, argv, session);
    session.finish();
  } catch (const std::bad_alloc&) {
    session.fail_without_memory();
  }
}

}  // namespace
}  // namespace relay::tools

int main(int argc, char** argv) {
  relay::tools::prepare_process();
  relay::clean_up_when_interrupted();
  relay::tools::Session session;
  relay::tools::run_within_memory(argc, argv, session);
  return session.exit_code;
}
