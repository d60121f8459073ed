// Diagnostics: everything that is wrong with the user's program, collected and
// rendered with carets.
//
// Style of a message: lower-case start, no final period, says what was found and what was needed,
// code in backticks. Each kind of error has a stable slug, which tests and docs refer to
// (base/slugs.txt).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slug.h"
#include "base/source.h"

namespace relay {

enum class Severity { kError, kWarning };

// How a message is shown: on a terminal that has them, with colours.
enum class Style { kPlain, kColours };

class Diagnostic {
 public:
  Diagnostic(Severity severity, Span span, Slug slug, std::string message)
      : severity_(severity), span_(span), slug_(slug), message_(std::move(message)) {}

  // Points at a further place that is involved.
  Diagnostic& label(Span span, std::string text);
  // Adds a fact or the remedy.
  Diagnostic& note(std::string text);

  Severity severity() const { return severity_; }
  Span span() const { return span_; }
  Slug slug() const { return slug_; }
  const std::string& message() const { return message_; }
  const std::vector<std::pair<Span, std::string>>& labels() const { return labels_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Severity severity_;
  Span span_;
  Slug slug_;
  std::string message_;
  std::vector<std::pair<Span, std::string>> labels_;
  std::vector<std::string> notes_;
};

// A sink. Functions that report to it return Result<T>, so that a message can neither be
// lost nor doubled.
class Diagnostics {
 public:
  Diagnostic& error(Span span, Slug slug, std::string message);
  Diagnostic& warning(Span span, Slug slug, std::string message);

  bool has_errors() const { return errors_ > 0; }
  size_t errors() const { return errors_; }
  // What is at fault, by the errors; nothing if there are none.
  std::optional<Fault> fault() const;
  const std::deque<Diagnostic>& all() const { return all_; }
  Diagnostic& last() { return all_.back(); }
  void clear();
  // What another sink holds, too.
  void add(const Diagnostics& more);
  // Takes back the errors in this part of a text: they follow from one that is reported next.
  void withdraw(Span within);

  // All of them in order of their place in the sources; what has no place comes last.
  std::vector<const Diagnostic*> in_order() const;
  std::string render(const SourceMap& sources, Style style = Style::kPlain) const;

  // More errors than this are counted but not kept: a hostile file must not fill the memory.
  static constexpr size_t kMaxKept = 1000;

 private:
  std::deque<Diagnostic> all_;
  size_t errors_ = 0;
};

// One diagnostic as text, e.g.
//   net.relay:14:8: error: operands of `add` do not broadcast [broadcast-mismatch]
//     %3 = add(%1, %2);
//          ^~~~~~~~~~~
std::string render(const Diagnostic& d, const SourceMap& sources, Style style = Style::kPlain);

// The word as an error, a warning or a note of that style shows it, such as "error:".
std::string coloured(std::string_view word, std::string_view colour, Style style);
inline constexpr std::string_view kRed = "1;31", kMagenta = "1;35", kGreen = "1;32", kCyan = "1;36",
                                  kBold = "1";

}  // namespace relay
