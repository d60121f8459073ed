#include "base/diagnostics.h"

#include <algorithm>

#include "base/cat.h"
#include "base/escape.h"

namespace relay {
namespace {

// Lines of generated text can be megabytes long: show only what is near the caret.
constexpr size_t kMaxLine = 160;

struct Kind {
  std::string_view word, colour;
};

void render_place(std::string& out, Span span, Kind kind, std::string_view message, std::string_view slug,
                  const SourceMap& sources, Style style) {
  const std::string head = cat(coloured(cat(kind.word, ":"), kind.colour, style), " ", harmless(message),
                               slug.empty() ? "" : cat(" [", slug, "]"), "\n");
  if (!span.known()) {
    out += head;
    return;
  }
  const SourceMap::Position at = sources.position(span.file, span.begin);
  out +=
      cat(coloured(cat(harmless(sources.name(span.file)), ":", at.line, ":", at.column, ":"), kBold, style),
          " ", head);
  std::string_view line = at.text;
  size_t column = std::min(at.column - 1, line.size());
  size_t length = span.end > span.begin ? span.end - span.begin : 1;
  length = std::max<size_t>(1, std::min(length, line.size() - column));
  if (line.size() > kMaxLine) {
    const size_t skip = column > kMaxLine / 2 ? column - kMaxLine / 2 : 0;
    line = line.substr(skip, kMaxLine);
    column -= skip;
    length = std::max<size_t>(1, std::min(length, line.size() - column));
  }
  std::string shown(line);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';  // tabs too, so that the caret stays in place
  }
  out += cat("  ", harmless(shown), "\n  ", std::string(column, ' '),
             coloured(cat("^", std::string(length - 1, '~')), kGreen, style), "\n");
}

}  // namespace

Diagnostic& Diagnostic::label(Span span, std::string text) {
  labels_.emplace_back(span, std::move(text));
  return *this;
}

Diagnostic& Diagnostic::note(std::string text) {
  notes_.push_back(std::move(text));
  return *this;
}

// Of a full list an error drives out the last warning, so that min(errors_, kMaxKept)
// errors are kept.
Diagnostic& Diagnostics::error(Span span, Slug slug, std::string message) {
  if (all_.size() >= kMaxKept) {
    auto out = std::prev(all_.end());
    if (errors_ < kMaxKept) {
      while (out->severity() == Severity::kError) --out;
    }
    all_.erase(out);
  }
  Diagnostic& made = all_.emplace_back(Severity::kError, span, slug, std::move(message));
  ++errors_;
  return made;
}

Diagnostic& Diagnostics::warning(Span span, Slug slug, std::string message) {
  Diagnostic made(Severity::kWarning, span, slug, std::move(message));
  if (all_.size() < kMaxKept) return all_.emplace_back(std::move(made));
  // Its label and notes are still written, and nobody reads them.
  thread_local Diagnostic dropped = made;
  return dropped = std::move(made);
}

void Diagnostics::withdraw(Span within) {
  const auto is_within = [&](const Diagnostic& d) {
    const Span at = d.span();
    return d.severity() == Severity::kError && at.known() && at.file == within.file &&
           at.begin >= within.begin && at.end <= within.end;
  };
  const size_t before = all_.size();
  std::erase_if(all_, is_within);
  errors_ -= before - all_.size();
}

void Diagnostics::add(const Diagnostics& more) {
  const size_t room = kMaxKept - std::min(all_.size(), kMaxKept);
  all_.insert(all_.end(), more.all_.begin(),
              more.all_.begin() + static_cast<std::ptrdiff_t>(std::min(room, more.all_.size())));
  errors_ += more.errors_;
}

void Diagnostics::clear() {
  all_.clear();
  errors_ = 0;
}

std::string coloured(std::string_view word, std::string_view colour, Style style) {
  return style == Style::kPlain ? std::string(word) : cat("\x1b[", colour, "m", word, "\x1b[0m");
}

std::string render(const Diagnostic& d, const SourceMap& sources, Style style) {
  std::string out;
  const Kind kind = d.severity() == Severity::kError ? Kind{"error", kRed} : Kind{"warning", kMagenta};
  render_place(out, d.span(), kind, d.message(), d.slug().name(), sources, style);
  for (const auto& [span, text] : d.labels()) {
    if (span.known()) {
      render_place(out, span, {"here", kCyan}, text, "", sources, style);
    } else {
      out += cat("  ", harmless(text), "\n");
    }
  }
  for (const std::string& note : d.notes())
    out += cat(coloured("note:", kCyan, style), " ", harmless(note), "\n");
  return out;
}

std::optional<Fault> Diagnostics::fault() const {
  std::optional<Fault> out;
  for (const Diagnostic& d : all_) {
    if (d.severity() == Severity::kError) out = std::max(out.value_or(Fault::kModel), d.slug().fault());
  }
  return out;
}

std::vector<const Diagnostic*> Diagnostics::in_order() const {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& d : all_) order.push_back(&d);
  std::stable_sort(order.begin(), order.end(), [](const Diagnostic* a, const Diagnostic* b) {
    const auto key = [](const Diagnostic* d) {
      return std::pair(d->span().known() ? d->span().file : UINT32_MAX, d->span().begin);
    };
    return key(a) < key(b);
  });
  return order;
}

std::string Diagnostics::render(const SourceMap& sources, Style style) const {
  std::string out;
  for (const Diagnostic* d : in_order()) out += relay::render(*d, sources, style);
  if (errors_ > kMaxKept)
    out += cat(coloured("note:", kCyan, style), " ", errors_ - kMaxKept, " more errors are not shown\n");
  return out;
}

}  // namespace relay
