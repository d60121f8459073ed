// The `relay` command. See docs/command-line.md; each subcommand has a file of its own.
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "base/cat.h"
#include "base/failure.h"
#include "base/interruption.h"
#include "driver/engines.h"
#include "tools/command_line.h"
#include "tools/completion.h"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

// A write that fails is reported by whoever writes, and what it leaves is removed: no signal may
// end the program first. A file that is opened must not get the number of a standard stream that
// the caller closed, or results would go there; the place holders cannot be used in their stream's
// direction, so that writing to one fails.
void prepare_process() {
  // An exception that passes through the C library has it load what unwinds, and it aborts if there
  // is no memory for that. This has it loaded.
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

// Says what the command line asks for in the place of a command, or what is wrong with it.
void report(Command app, const Parsed& parsed, Session& session) {
  switch (parsed.end) {
    case Parsed::End::kRan: break;
    case Parsed::End::kAsksHelp: session.print(parsed.text); break;
    case Parsed::End::kAsksVersion: print_version(session); break;
    case Parsed::End::kRefused:
      session.json = app.given("--json");  // which may stand behind the mistake
      session.fail(kUsage, misuse(app, parsed));
  }
}

// What a subcommand does not catch ends here; a bug aborts with a message of its
// own (base/check.h).
void run(int argc, char** argv, Session& session) {
  CommandLine line("Relay: a compiler for deep learning. Runs, checks, compiles and compares models.",
                   "relay");
  add_commands(line, session);
  try {
    if (!complete_words(line.program(), argc, argv, session))
      report(line.program(), line.parse(argc, argv), session);
  } catch (const Trap& trap) {
    session.fail(kMismatch, cat("the program failed: ", trap.what()));
  } catch (const Exhausted& limit) {
    session.fail(kLimit, limit.what());
  } catch (const driver::CannotPrepare& e) {
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

// Whatever finds no memory ends here: the command, what it begins with, or the message that
// something else failed.
void run_within_memory(int argc, char** argv, Session& session) {
  try {
    session.arguments.assign(argv + std::min(argc, 1), argv + argc);
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
