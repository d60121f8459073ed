// The `relay` command. See docs/command-line.md; each subcommand has a file of its own.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/failure.h"
#include "tools/engines.h"
#include "tools/session.h"

int main(int argc, char** argv) {
  relay::tools::Session session;
  CLI::App app("Relay: a compiler for deep learning. Runs, checks, compiles and compares models.");
  app.name("relay");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", session.json, "print results as JSON");
  app.add_flag("-q,--quiet", session.quiet, "print results only");
  relay::tools::add_demo(app, session);
  relay::tools::add_run(app, session);
  relay::tools::add_compile(app, session);
  relay::tools::add_check(app, session);
  relay::tools::add_fmt(app, session);
  relay::tools::add_opt(app, session);
  relay::tools::add_import(app, session);
  relay::tools::add_ops(app, session);
  relay::tools::add_bench(app, session);
  relay::tools::add_verify(app, session);
  relay::tools::add_doctor(app, session);
  // What a subcommand does not catch ends here; a bug aborts with a message of its own (base/check.h).
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return relay::tools::kUsage;
  } catch (const relay::Trap& trap) {
    session.fail(relay::tools::kMismatch, std::string("the program failed: ") + trap.what());
  } catch (const relay::Exhausted& limit) {
    session.fail(relay::tools::kLimit, limit.what());
  } catch (const relay::tools::CannotPrepare& e) {
    session.fail(relay::tools::kUnsupported, e.what());
  } catch (const std::bad_alloc&) {
    session.fail(relay::tools::kLimit, "there is not enough memory for this");
  } catch (const std::exception& e) {
    session.fail(relay::tools::kInternal, std::string("internal error: ") + e.what());
  }
  return session.exit_code;
}
