#include "tools/session.h"

#include <unistd.h>

#include <cstdio>

#include "base/cat.h"

namespace relay::tools {
namespace {
void write(FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}
}  // namespace

void Session::print(std::string_view text) const { write(stdout, text); }

void Session::say(std::string_view text) const {
  if (!quiet) write(stderr, text);
}

bool Session::fail(int code, const Diagnostics& diagnostics, const SourceMap& sources) {
  write(stderr, diagnostics.render(sources));
  exit_code = code;
  return false;
}

bool Session::fail(int code, std::string_view message) {
  write(stderr, cat("relay: ", message, "\n"));
  exit_code = code;
  return false;
}

Progress::Progress(const Session& session, std::string what)
    : shown_(!session.quiet && isatty(STDERR_FILENO)), what_(std::move(what)) {}

// The line is wiped, so that what follows starts in the first column.
Progress::~Progress() {
  if (shown_) write(stderr, "\r\033[K");
}

void Progress::step(std::string_view now) {
  if (shown_) write(stderr, cat("\r\033[K", what_, ": ", now));
}

}  // namespace relay::tools
