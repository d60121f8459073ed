// The tokens of a pattern's text, and what a reader says of one that it does not expect.
#pragma once

#include <optional>
#include <string_view>

#include "base/cat.h"
#include "base/diagnostics.h"
#include "ir/text/lexer.h"
#include "ir/text/parser.h"

namespace relay::pattern {

class PatternTokens {
 protected:
  using Token = text::Token;

  PatternTokens(uint32_t file, std::string_view text, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), lexer_(file, text, diagnostics) {}

  const Token& peek() { return lexer_.peek(); }
  Token next() { return lexer_.next(); }
  bool take(std::string_view punctuation) {
    if (!peek().is(punctuation)) return false;
    next();
    return true;
  }
  bool take_word(std::string_view word) {
    if (!peek().is_word(word)) return false;
    next();
    return true;
  }
  bool need(std::string_view punctuation, std::string_view why) {
    if (take(punctuation)) return true;
    expected(cat("`", punctuation, "` ", why));
    return false;
  }
  std::nullopt_t expected(std::string_view what) {
    const Token& found = peek();
    if (found.kind != text::TokenKind::kBad) {
      diagnostics_.error(found.span, "expected-pattern", cat("expected ", what, ", found ", found.show()));
    }
    return std::nullopt;
  }

  // A part in the language itself.
  template <class Read>
  auto language(Read&& read) {
    TextPlace place{lexer_.file(), lexer_.position()};
    auto result = read(place);
    lexer_.seek(place.offset);
    return result;
  }

  Diagnostics& diagnostics_;
  text::Lexer lexer_;
};

}  // namespace relay::pattern
