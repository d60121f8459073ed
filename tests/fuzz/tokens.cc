#include "tests/fuzz/tokens.h"

#include <cctype>
#include <string_view>

namespace relay::fuzz {
namespace {

using Kind = Token::Kind;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool is_one_of(const Token& t, std::string_view marks) {
  return t.text.size() == 1 && marks.find(t.text[0]) != std::string_view::npos;
}

}  // namespace

Tokens tokens_of(const std::string& text) {
  Tokens out;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    Kind kind = Kind::kMark;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      kind = Kind::kSpace;
      while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])) != 0) ++end;
    } else if (is_word(c) || ((c == '%' || c == '@') && end < text.size() && is_word(text[end]))) {
      kind = std::isdigit(static_cast<unsigned char>(c)) != 0 ? Kind::kNumber : Kind::kWord;
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (c == '"' || c == '\'' || c == '`') {
      const size_t close = text.find(c, end);
      if (close != std::string::npos && close - at < 200) {
        kind = Kind::kString;
        end = close + 1;
      }
    }
    out.push_back({kind, text.substr(at, end - at)});
    at = end;
  }
  return out;
}

std::string text_of(const Tokens& tokens) {
  std::string out;
  for (const Token& t : tokens) out += t.text;
  return out;
}

const std::string* token_like(Token::Kind kind, const Tokens& tokens, Random& random) {
  if (tokens.empty()) return nullptr;
  const size_t start = random.below(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[(start + i) % tokens.size()];
    if (t.kind == kind) return &t.text;
  }
  return nullptr;
}

size_t end_of_group(const Tokens& tokens, size_t begin) {
  size_t depth = 0;
  for (size_t end = begin; end < tokens.size(); ++end) {
    if (is_one_of(tokens[end], "([{")) ++depth;
    if (is_one_of(tokens[end], ")]}") && --depth == 0) return end + 1;
  }
  return 0;
}

std::pair<size_t, size_t> group_of(const Tokens& tokens, Random& random) {
  if (tokens.empty()) return {0, 0};
  const size_t start = random.below(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t begin = (start + i) % tokens.size();
    if (!is_one_of(tokens[begin], "([{")) continue;
    if (const size_t end = end_of_group(tokens, begin)) return {begin, end};
  }
  return {0, 0};
}

void erase(Tokens& tokens, size_t begin, size_t end) {
  tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(begin), tokens.begin() + static_cast<ptrdiff_t>(end));
}
void insert(Tokens& tokens, size_t at, const Tokens& part) {
  tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), part.begin(), part.end());
}
Tokens part_of(const Tokens& tokens, size_t begin, size_t end) {
  return {tokens.begin() + static_cast<ptrdiff_t>(begin), tokens.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace relay::fuzz
