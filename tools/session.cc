#include "tools/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/escape.h"
#include "base/json_text.h"

namespace relay::tools {
namespace {

// Control characters that no text of ours has, but names of a model may.
constexpr std::string_view kKept = "\n\t";

bool write_as_is(FILE* to, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
}

bool write(FILE* to, std::string_view text) { return write_as_is(to, harmless(text, kKept)); }

// A text of ours, in which what came from outside was made harmless: it may have colours.
bool write_rendered(FILE* to, std::string_view text) { return write_as_is(to, text); }

// Colours are for people: on a terminal that has them, unless NO_COLOR (no-color.org) is set.
Style style_of_messages() {
  static const Style style = [] {
    const char *no = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
    const bool wanted =
        isatty(STDERR_FILENO) && (!no || !*no) && terminal && std::string_view(terminal) != "dumb";
    return wanted ? Style::kColours : Style::kPlain;
  }();
  return style;
}

// For people: what the registry of diagnostics says to do.
std::string advice_on(Slug slug) {
  return cat("relay: ", slug.remedy(), " `relay explain ", slug.name(), "` has an example.\n");
}

// Of the first error that is shown, of which there is one.
Slug first_error(const Diagnostics& diagnostics) {
  const std::vector<const Diagnostic*> shown = diagnostics.in_order();
  return (*std::find_if(shown.begin(), shown.end(),
                        [](const Diagnostic* d) { return d->severity() == Severity::kError; }))
      ->slug();
}

nlohmann::ordered_json json_of(Span span, const SourceMap& sources) {
  if (!span.known()) return nullptr;
  const SourceMap::Position at = sources.position(span.file, span.begin);
  return {{"file", sources.name(span.file)}, {"line", at.line}, {"column", at.column}};
}

nlohmann::ordered_json json_of(const Diagnostic& d, const SourceMap& sources) {
  nlohmann::ordered_json j = {{"severity", d.severity() == Severity::kError ? "error" : "warning"},
                              {"slug", d.slug().name()},
                              {"message", d.message()},
                              {"place", json_of(d.span(), sources)},
                              {"labels", nlohmann::ordered_json::array()},
                              {"notes", d.notes()}};
  for (const auto& [span, text] : d.labels())
    j["labels"].push_back({{"message", text}, {"place", json_of(span, sources)}});
  return j;
}

}  // namespace

int exit_code_of(const Diagnostics& diagnostics, int other) {
  switch (diagnostics.fault().value_or(Fault::kModel)) {
    case Fault::kModel: return other;
    case Fault::kUnsupported: return kUnsupported;
    case Fault::kUsage: return kUsage;
    case Fault::kLimit: return kLimit;
    case Fault::kBug: return kInternal;
  }
  __builtin_unreachable();
}

void Session::print(std::string_view text) const {
  if (!write(stdout, text) && lost == 0) lost = errno;
}

void Session::print_json(const nlohmann::ordered_json& json, int indent) const {
  print(json_text(json, indent) + "\n");
}

void Session::say(std::string_view text) const {
  if (!quiet) write(stderr, text);
}

bool Session::fail(const Diagnostics& diagnostics, const SourceMap& sources, int other) {
  if (json) {
    for (const Diagnostic* d : diagnostics.in_order())
      write(stderr, json_text(json_of(*d, sources), -1) + "\n");
  } else {
    write_rendered(stderr, diagnostics.render(sources, style_of_messages()));
    if (diagnostics.has_errors() && isatty(STDERR_FILENO)) say(advice_on(first_error(diagnostics)));
  }
  if (diagnostics.has_errors()) exit_code = exit_code_of(diagnostics, other);
  return false;
}

bool Session::fail(int code, std::string_view message) {
  if (json) {
    const nlohmann::ordered_json j = {{"severity", "error"}, {"message", message}, {"exit", code}};
    write(stderr, json_text(j, -1) + "\n");
  } else {
    write_rendered(stderr,
                   cat(coloured("relay:", kRed, style_of_messages()), " ", harmless(message, kKept), "\n"));
  }
  exit_code = code;
  return false;
}

void Session::explain(std::string_view text, const nlohmann::ordered_json& as_json) const {
  write(stderr, json ? json_text(as_json, -1) + "\n" : std::string(text));
}

void Session::remedy(std::string_view what, std::string_view command) const {
  if (json) {
    const nlohmann::ordered_json j = {{"severity", "remedy"}, {"message", what}, {"command", command}};
    write(stderr, json_text(j, -1) + "\n");
  } else {
    write_rendered(stderr, cat(coloured("remedy:", kGreen, style_of_messages()), " ", harmless(what, kKept),
                               "\n  ", harmless(command, kKept), "\n"));
  }
}

void Session::fail_without_memory() noexcept {
  constexpr std::string_view kMessage = "relay: there is not enough memory for this\n";
  for (std::string_view left = kMessage; !left.empty();) {
    const ssize_t n = ::write(STDERR_FILENO, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    left.remove_prefix(static_cast<size_t>(n));
  }
  exit_code = kLimit;
}

void Session::finish() {
  if (lost == 0 || lost == EPIPE) return;
  const int before = exit_code;
  fail(kLimit, cat("cannot write to standard output: ", std::strerror(lost)));
  if (before != kOk) exit_code = before;
}

Progress::Progress(const Session& session, std::string what)
    : shown_(!session.quiet && isatty(STDERR_FILENO)), what_(std::move(what)) {}

// The line is wiped, so that what follows starts in the first column.
Progress::~Progress() {
  if (shown_) write_as_is(stderr, "\r\033[K");
}

void Progress::step(std::string_view now) {
  if (shown_) write_as_is(stderr, cat("\r\033[K", what_, ": ", harmless(now, "")));
}

void Progress::step(std::string_view now, size_t done, size_t total) {
  const double so_far = since_begin_.seconds();
  std::string left;
  // Of a first part that is too short nothing follows.
  if (done > 0 && so_far > 1) {
    const double seconds = so_far * static_cast<double>(total - done) / static_cast<double>(done);
    left = seconds < 90 ? fmt::format(", about {:.0f} s left", seconds)
                        : fmt::format(", about {:.0f} min left", seconds / 60);
  }
  step(cat(done, " of ", total, left, ": ", now));
}

}  // namespace relay::tools
