#include <algorithm>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/tokens.h"

namespace relay::fuzz {
namespace {

constexpr std::string_view kPieces[] = {
    "(",        ")",           "{",         "}",        "[",        "]",           ",",         ";",
    "=",        ":",           ".",         "?",        "*",        "/",           "//",        "/*",
    "*/",       "-",           "->",        "=>",       "\"",       "'",           "`",         "@main",
    "%0",       "%x",          "def @f",    "fn (",     "let %x =", "if (",        "else {",    "match (",
    "match? (", "type T[A]",   "ref(",      "meta[",    "tensor(",  "const(\"",    "kernel @k", "Tensor[(",
    "block b",  "spatial",     "reduction", "for i in", "int4",     "float8_e4m3", "bool",      "free_var",
    "extern ",  "#[metadata]", "True",      "None",     "\xff",     "\\u0000",     "nan",       "op ",
    "ctor ",    "min(",        "n % 0",     "_",        "`*/ /*`",  "`\\n#`",      "`\\\\`",    "`\\xff\\\"`",
    "%`1x`",    "\"?\?/\\r\""};
constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "63",
                                         "64",
                                         "65",
                                         "127",
                                         "128",
                                         "255",
                                         "65535",
                                         "65536",
                                         "1000000",
                                         "16777217",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "1e9",
                                         "1e400",
                                         "1e-400",
                                         "0x7fffffff",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "0.0f",
                                         "-0f",
                                         "1i8",
                                         "300u8",
                                         "1.5bf16",
                                         "7i4"};

// Puts brackets around tokens, many times: what nests deeper than anybody writes.
void nest(Tokens& tokens, size_t begin, size_t end, Random& random) {
  constexpr std::string_view kAround[][2] = {
      {"(", ")"},        {"[", "]"},    {"{", "}"},       {"(", ",)"},
      {"nn.relu(", ")"}, {"ref(", ")"}, {"fn () {", "}"}, {"Tensor[(", "), int8]"},
      {"-", ""}};
  const auto& [open, close] = random.of(kAround);
  const size_t most =
      std::min<size_t>(size_t{1} << random.below(12), kMostGrowth / (open.size() + close.size() + 1) / 2);
  std::string before, after;
  for (size_t n = 0; n < most; ++n) {
    before += open;
    after += close;
  }
  insert(tokens, end, {{Token::Kind::kMark, after}});
  insert(tokens, begin, {{Token::Kind::kMark, before}});
}

void injure(Tokens& tokens, const Seeds& seeds, Random& random) {
  const size_t at = random.below(tokens.size() + 1);
  const size_t end = std::min(tokens.size(), at + 1 + random.below(6));
  // A seed is taken apart only where tokens of another one are wanted: most of them come
  // from the same text.
  const auto other = [&] { return random.one_in(2) ? tokens : tokens_of(random.of(seeds)); };
  switch (random.below(11)) {
    case 0: erase(tokens, at, end); break;
    case 1: insert(tokens, random.below(tokens.size() + 1), part_of(tokens, at, end)); break;
    case 2:
      if (at < tokens.size()) std::swap(tokens[at], tokens[random.below(tokens.size())]);
      break;
    case 3:
    case 4:
    case 5: {
      if (at == tokens.size()) break;
      // Spaces are of no interest; what follows one mostly is.
      Token& t = tokens[tokens[at].kind == Token::Kind::kSpace && at + 1 < tokens.size() ? at + 1 : at];
      if (t.kind == Token::Kind::kNumber && random.one_in(2)) {
        t.text = random.of(kNumbers);
      } else if (const Tokens from = other(); const std::string* like = token_like(t.kind, from, random)) {
        t.text = *like;
      }
      break;
    }
    case 6:
      insert(
          tokens, at,
          {{Token::Kind::kMark, std::string(random.one_in(3) ? random.of(kNumbers) : random.of(kPieces))}});
      break;
    case 7: {
      const auto [begin, after] = group_of(tokens, random);
      switch (random.below(3)) {
        case 0: erase(tokens, begin, after); break;
        case 1: insert(tokens, after, part_of(tokens, begin, after)); break;
        default: insert(tokens, at, part_of(tokens, begin, after));
      }
      break;
    }
    case 8: {  // a group for a group
      const auto [begin, after] = group_of(tokens, random);
      const Tokens from = other();
      const auto [other_begin, other_after] = group_of(from, random);
      erase(tokens, begin, after);
      insert(tokens, begin, part_of(from, other_begin, other_after));
      break;
    }
    case 9: {  // the lines of another text, or a few of them
      const Tokens from = tokens_of(random.of(seeds));
      const size_t begin = random.one_in(2) ? 0 : random.below(from.size() + 1);
      const size_t after = random.one_in(2) ? from.size() : begin + random.below(from.size() - begin + 1);
      insert(tokens, random.one_in(2) ? tokens.size() : at, part_of(from, begin, after));
      break;
    }
    default:
      if (at == tokens.size()) break;
      if (random.one_in(3)) {
        nest(tokens, at, end, random);
      } else {  // many times the same
        const Tokens part = part_of(tokens, at, end);
        const size_t times =
            std::min<size_t>(size_t{1} << random.below(10), kMostGrowth / (text_of(part).size() + 1));
        Tokens many;
        for (size_t n = 0; n < times; ++n) insert(many, many.size(), part);
        insert(tokens, at, many);
      }
  }
}

}  // namespace

std::string mutate_text(const std::string& text, const Seeds& seeds, Random& random) {
  Tokens tokens = tokens_of(text);
  for (size_t injuries = 1 + random.below(2) * random.below(4); injuries > 0; --injuries)
    injure(tokens, seeds, random);
  std::string out = text_of(tokens);
  if (out.size() > text.size() + kMostGrowth) out.resize(text.size() + kMostGrowth);
  return out;
}

}  // namespace relay::fuzz
