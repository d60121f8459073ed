// Lexer: a text as tokens, made when they are asked for.
//
// The parser asks for them one at a time, because what a character means depends on where it
// stands: in index arithmetic `//` divides, `%` is a remainder and `n%8` is not the variable `%8`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/source.h"

namespace relay::text {

enum class TokenKind : uint8_t {
  kEnd,
  kName,         // add, or quoted: `add`
  kLocal,        // %x; the text is the name
  kGraph,        // %0; the text is the number
  kGlobal,       // @main; the text is the name
  kNumber,       // 1, 2.5f, 0x1f; never with a sign
  kString,       // the text is what stands between the quotes
  kMeta,         // meta[key][index]; the text is all of it
  kVersion,      // #[version = "0.0.5"]; the text is the version
  kMetadata,     // #[metadata]: the rest of the text is JSON
  kPunctuation,  // ( ) { } [ ] , ; : . = == != < <= > >= + - * / -> => ? | and, in index arithmetic, // and %
  kBad,          // reported already
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool quoted = false;  // a name or string whose text may have escapes
  Span span;
  std::string_view text;

  bool is(std::string_view punctuation) const {
    return kind == TokenKind::kPunctuation && text == punctuation;
  }
  bool is_word(std::string_view word) const { return kind == TokenKind::kName && !quoted && text == word; }
  std::string name() const;  // the text without escapes
  std::string show() const;  // for messages: "`)`", "end of file", "number `3`"
};

class Lexer {
 public:
  Lexer(uint32_t file, std::string_view text, Diagnostics& diagnostics)
      : file_(file), text_(text), diagnostics_(diagnostics) {}

  const Token& peek() {
    if (!ahead_valid_) {
      ahead_ = lex(position_, after_);
      ahead_valid_ = true;
    }
    return ahead_;
  }
  Token next() {
    peek();
    position_ = after_;
    ahead_valid_ = false;
    end_of_last_ = ahead_.span.end;
    return ahead_;
  }
  // The token after the next one.
  Token peek_second() {
    peek();
    size_t after = 0;
    return lex(after_, after);
  }

  // Whether `//` and `%` are operators. Applies from the next token on.
  bool arithmetic() const { return arithmetic_; }
  void set_arithmetic(bool on) {
    if (on == arithmetic_) return;
    arithmetic_ = on;
    ahead_valid_ = false;
  }

  // Whether bad tokens go unreported: while text is skipped, it is not known what they would mean.
  void set_quiet(bool on) { quiet_ = on; }

  // Where reading goes on; `seek` goes back to such a place.
  size_t position() const { return position_; }
  void seek(size_t position) {
    position_ = position;
    ahead_valid_ = false;
  }

  // The digits right here (after the dot of a projection), where `0.1` is not one number. False
  // if there are none.
  bool digits(Token& out);

  uint32_t end_of_last() const { return end_of_last_; }  // offset after the last token that was taken
  void set_end_of_last(uint32_t offset) { end_of_last_ = offset; }
  uint32_t file() const { return file_; }
  std::string_view text() const { return text_; }

 private:
  Token lex(size_t at, size_t& after);
  size_t skip_blank(size_t at);
  Token sigil(size_t at, size_t& after);
  Token quoted(size_t at, size_t& after, char quote, TokenKind kind, size_t start);
  Token bad(size_t begin, size_t end, size_t& after, Slug slug, std::string message);
  Token token(TokenKind kind, size_t begin, size_t end, std::string_view text) const;
  void report(size_t begin, size_t end, Slug slug, std::string message);

  uint32_t file_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  size_t position_ = 0, after_ = 0;
  Token ahead_;
  bool ahead_valid_ = false;
  bool arithmetic_ = false, quiet_ = false;
  uint32_t end_of_last_ = 0;
  size_t unclosed_ = SIZE_MAX;  // where a string begins that is never closed
  size_t reported_until_ = 0;   // texts are read more than once; each mistake is reported once
};

}  // namespace relay::text
