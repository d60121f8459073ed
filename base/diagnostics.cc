#include "base/diagnostics.h"

#include <algorithm>

#include "base/cat.h"
#include "base/escape.h"

namespace relay {
namespace {

// Lines of generated text can be megabytes long: show only what is near the caret.
constexpr size_t kMaxLine = 160;

void render_place(std::string& out, Span span, std::string_view kind, std::string_view message,
                  std::string_view slug, const SourceMap& sources) {
  if (!span.known()) {
    out += cat(kind, ": ", harmless(message));
    if (!slug.empty()) out += cat(" [", slug, "]");
    out += "\n";
    return;
  }
  const SourceMap::Position at = sources.position(span.file, span.begin);
  out += cat(harmless(sources.name(span.file)), ":", at.line, ":", at.column, ": ", kind, ": ",
             harmless(message));
  if (!slug.empty()) out += cat(" [", slug, "]");
  out += "\n";
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
  out += cat("  ", shown, "\n  ", std::string(column, ' '), "^", std::string(length - 1, '~'), "\n");
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

// Of a full list an error drives out the last warning, so that min(errors_, kMaxKept) errors are kept.
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

void Diagnostics::clear() {
  all_.clear();
  errors_ = 0;
}

std::string render(const Diagnostic& d, const SourceMap& sources) {
  std::string out;
  render_place(out, d.span_, d.severity_ == Severity::kError ? "error" : "warning", d.message_,
               d.slug_.name(), sources);
  for (const auto& [span, text] : d.labels_) {
    if (span.known()) {
      render_place(out, span, "here", text, "", sources);
    } else {
      out += cat("  ", harmless(text), "\n");
    }
  }
  for (const std::string& note : d.notes_) out += cat("note: ", harmless(note), "\n");
  return out;
}

std::string Diagnostics::render(const SourceMap& sources) const {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& d : all_) order.push_back(&d);
  std::stable_sort(order.begin(), order.end(), [](const Diagnostic* a, const Diagnostic* b) {
    const auto key = [](const Diagnostic* d) {
      return std::pair(d->span().known() ? d->span().file : UINT32_MAX, d->span().begin);
    };
    return key(a) < key(b);
  });
  std::string out;
  for (const Diagnostic* d : order) out += relay::render(*d, sources);
  if (errors_ > kMaxKept) out += cat("note: ", errors_ - kMaxKept, " more errors are not shown\n");
  return out;
}

}  // namespace relay
