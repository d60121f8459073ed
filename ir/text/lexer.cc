#include "ir/text/lexer.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/cat.h"
#include "ir/text/names.h"

namespace relay::text {
namespace {

// Latin1: a text may hold any bytes.
struct Patterns {
  RE2 name{"[A-Za-z_](?:/?[A-Za-z0-9_])*", RE2::Latin1};
  RE2 digits{"[0-9]+", RE2::Latin1};
  RE2 number{"(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)[A-Za-z0-9_]*", RE2::Latin1};
  RE2 string{"\"(?s:[^\"\\\\]|\\\\.)*\"", RE2::Latin1};
  RE2 backquoted{"`(?:[^`\\\\\n]|\\\\[^\n])*`", RE2::Latin1};
  RE2 meta{"meta\\[[A-Za-z0-9_.]+\\]\\[[0-9]+\\]", RE2::Latin1};
  RE2 version{"#\\[\\s*version\\s*=\\s*\"([^\"\n]*)\"\\s*\\]", RE2::Latin1};
  RE2 metadata{"#\\[\\s*metadata\\s*\\]", RE2::Latin1};
};
const Patterns& patterns() {
  static const Patterns kPatterns;
  return kPatterns;
}

// The length of the match of `pattern` at `at`; 0 if there is none.
size_t matched(const RE2& pattern, std::string_view text, size_t at) {
  re2::StringPiece found;
  const re2::StringPiece input(text.data(), text.size());
  return pattern.Match(input, at, text.size(), RE2::ANCHOR_START, &found, 1) ? found.size() : 0;
}

bool starts_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

std::string show_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7f) return cat("`", c, "`");
  return fmt::format("byte 0x{:02x}", byte);
}

}  // namespace

std::string Token::name() const { return quoted ? unescaped(text) : std::string(text); }

std::string Token::show() const {
  constexpr size_t kMost = 40;
  const std::string shown = text.size() > kMost ? cat(text.substr(0, kMost), "...") : std::string(text);
  switch (kind) {
    case TokenKind::kEnd: return "the end of the text";
    case TokenKind::kName: return cat(keyword(text) && !quoted ? "keyword `" : "name `", shown, "`");
    case TokenKind::kLocal:
    case TokenKind::kGraph: return cat("`%", shown, "`");
    case TokenKind::kGlobal: return cat("`@", shown, "`");
    case TokenKind::kNumber: return cat("number `", shown, "`");
    case TokenKind::kString: return "a string";
    case TokenKind::kVersion: return "`#[version]`";
    case TokenKind::kMetadata: return "`#[metadata]`";
    case TokenKind::kMeta:
    case TokenKind::kPunctuation:
    case TokenKind::kBad: return cat("`", shown, "`");
  }
  return shown;
}

Token Lexer::token(TokenKind kind, size_t begin, size_t end, std::string_view text) const {
  Token t;
  t.kind = kind;
  t.span = {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  t.text = text;
  return t;
}

void Lexer::report(size_t begin, size_t end, Slug slug, std::string message) {
  if (quiet_ || begin < reported_until_) return;
  reported_until_ = end;
  diagnostics_.error({file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, slug,
                     std::move(message));
}

Token Lexer::bad(size_t begin, size_t end, size_t& after, Slug slug, std::string message) {
  report(begin, end, slug, std::move(message));
  after = end;
  return token(TokenKind::kBad, begin, end, text_.substr(begin, end - begin));
}

// White space and comments; block comments nest.
size_t Lexer::skip_blank(size_t at) {
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
      continue;
    }
    if (at == 0 && text_.substr(0, 3) == "\xef\xbb\xbf") {  // byte order mark
      at = 3;
      continue;
    }
    const std::string_view two = text_.substr(at, 2);
    if (two == "//" && !arithmetic_) {
      const size_t end = text_.find('\n', at);
      at = end == std::string_view::npos ? text_.size() : end;
    } else if (two == "/*") {
      const size_t begin = at;
      size_t depth = 0;
      do {
        const size_t mark = text_.find_first_of("/*", at);
        if (mark == std::string_view::npos || mark + 1 >= text_.size()) {
          report(begin, begin + 2, "unterminated-comment", "this comment is never closed; `*/` is needed");
          return text_.size();
        }
        const std::string_view pair = text_.substr(mark, 2);
        depth += pair == "/*" ? 1 : 0;
        depth -= pair == "*/" ? 1 : 0;
        at = mark + (pair == "/*" || pair == "*/" ? 2 : 1);
      } while (depth > 0);
    } else {
      break;
    }
  }
  return at;
}

Token Lexer::quoted(size_t at, size_t& after, char quote, TokenKind kind, size_t start) {
  // A later quote mark in a string that is never closed begins one that is never closed
  // either: look only once.
  const bool hopeless = quote == '"' && at > unclosed_;
  const size_t length =
      hopeless ? 0 : matched(quote == '"' ? patterns().string : patterns().backquoted, text_, at);
  if (length == 0) {
    // The rest of the line is as good a guess as any of what was meant.
    if (quote == '"') unclosed_ = std::min(unclosed_, at);
    size_t end = text_.find('\n', at);
    if (end == std::string_view::npos) end = text_.size();
    const std::string what = quote == '"' ? "string" : "name";
    return bad(start, end, after, "unterminated-string",
               cat("this ", what, " is never closed; `", quote, "` is needed"));
  }
  after = at + length;
  Token t = token(kind, start, after, text_.substr(at + 1, length - 2));
  t.quoted = true;
  return t;
}

// %x %0 @f, or with a quoted name.
Token Lexer::sigil(size_t at, size_t& after) {
  const bool local = text_[at] == '%';
  const TokenKind kind = local ? TokenKind::kLocal : TokenKind::kGlobal;
  const char c = at + 1 < text_.size() ? text_[at + 1] : '\0';
  if (starts_name(c)) {
    const size_t length = matched(patterns().name, text_, at + 1);
    after = at + 1 + length;
    return token(kind, at, after, text_.substr(at + 1, length));
  }
  if (c == '`') return quoted(at + 1, after, '`', kind, at);
  if (local && digit(c)) {
    const size_t length = matched(patterns().digits, text_, at + 1);
    after = at + 1 + length;
    return token(TokenKind::kGraph, at, after, text_.substr(at + 1, length));
  }
  if (local) {
    after = at + 1;
    return token(TokenKind::kPunctuation, at, after,
                 text_.substr(at, 1));  // the remainder of index arithmetic
  }
  return bad(at, at + 1, after, "unexpected-character", "`@` must be followed by a name without a space");
}

Token Lexer::lex(size_t at, size_t& after) {
  const size_t begin = skip_blank(at);
  after = begin;
  if (begin >= text_.size()) return token(TokenKind::kEnd, text_.size(), text_.size(), {});
  const char c = text_[begin];
  const auto punctuation = [&](size_t length) {
    after = begin + length;
    return token(TokenKind::kPunctuation, begin, after, text_.substr(begin, length));
  };

  if (starts_name(c)) {
    if (c == 'm') {
      if (const size_t length = matched(patterns().meta, text_, begin)) {
        after = begin + length;
        return token(TokenKind::kMeta, begin, after, text_.substr(begin, length));
      }
    }
    const size_t length = matched(patterns().name, text_, begin);
    after = begin + length;
    return token(TokenKind::kName, begin, after, text_.substr(begin, length));
  }
  if (digit(c)) {
    const size_t length = matched(patterns().number, text_, begin);
    after = begin + length;
    return token(TokenKind::kNumber, begin, after, text_.substr(begin, length));
  }
  if (c == '`') return quoted(begin, after, '`', TokenKind::kName, begin);
  if (c == '"') return quoted(begin, after, '"', TokenKind::kString, begin);
  if (c == '@' || (c == '%' && !arithmetic_)) return sigil(begin, after);
  if (c == '#') {
    if (const size_t length = matched(patterns().version, text_, begin)) {
      after = begin + length;
      const std::string_view whole = text_.substr(begin, length);
      const size_t quote = whole.find('"');
      return token(TokenKind::kVersion, begin, after, whole.substr(quote + 1, whole.rfind('"') - quote - 1));
    }
    if (const size_t length = matched(patterns().metadata, text_, begin)) {
      after = begin + length;
      return token(TokenKind::kMetadata, begin, after, text_.substr(begin, length));
    }
  }
  const std::string_view two = text_.substr(begin, 2);
  for (std::string_view p : {"->", "=>", "==", "!=", "<=", ">=", "&&", "||"}) {
    if (two == p) return punctuation(2);
  }
  if (arithmetic_ && two == "//") return punctuation(2);
  if (std::string_view("(){}[],;:.=<>+-*/?!|").find(c) != std::string_view::npos ||
      (arithmetic_ && c == '%')) {
    return punctuation(1);
  }
  // One report for a run of bytes that mean nothing.
  size_t end = begin + 1;
  while (end < text_.size() && static_cast<unsigned char>(text_[end]) >= 0x80) ++end;
  return bad(begin, end, after, "unexpected-character",
             cat(show_byte(c), " means nothing here", c == '#' ? ": a comment begins with `//`" : ""));
}

bool Lexer::digits(Token& out) {
  const size_t length = matched(patterns().digits, text_, position_);
  if (length == 0) return false;
  out = token(TokenKind::kNumber, position_, position_ + length, text_.substr(position_, length));
  seek(position_ + length);
  end_of_last_ = out.span.end;
  return true;
}

}  // namespace relay::text
