// Texts as tokens: what mutations of texts exchange.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/mutate.h"

namespace relay::fuzz {

struct Token {
  enum class Kind { kWord, kNumber, kString, kMark, kSpace };
  Kind kind;
  std::string text;
};
using Tokens = std::vector<Token>;

// Good enough for `.relay`, JSON and the header of a .npy file: whatever it is not
// sure of is a mark.
Tokens tokens_of(const std::string& text);
std::string text_of(const Tokens& tokens);

// Some token of this kind; null if there is none.
const std::string* token_like(Token::Kind kind, const Tokens& tokens, Random& random);

// The place behind the bracket that closes the one at `begin`; 0 if none does.
size_t end_of_group(const Tokens& tokens, size_t begin);
// The tokens from an opening bracket to the one that closes it: [begin, end). Empty if there
// are no brackets.
std::pair<size_t, size_t> group_of(const Tokens& tokens, Random& random);

void erase(Tokens& tokens, size_t begin, size_t end);
void insert(Tokens& tokens, size_t at, const Tokens& part);
Tokens part_of(const Tokens& tokens, size_t begin, size_t end);

}  // namespace relay::fuzz
