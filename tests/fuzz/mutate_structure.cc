// Mutations that keep a text sound and make it strange: names that nobody would give, and nests
// that nobody would write.
#include <algorithm>
#include <array>
#include <map>

#include "base/escape.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/tokens.h"

namespace relay::fuzz {
namespace {

using Kind = Token::Kind;

// Parts of names: what closes, continues or expands something in a language that Relay writes, what
// is no text, and words that mean something there.
using namespace std::string_view_literals;
constexpr std::array kParts{
    "*/"sv,       "/*"sv,  "//"sv, "\n"sv,     "\r"sv,  "\\\n"sv, "?\?/"sv, "\\"sv,       "\""sv,
    "'"sv,        "`"sv,   "}"sv,  ")"sv,      "]=]"sv, "-->"sv,  "${"sv,   "%s%n"sv,     "\x1b]0;"sv,
    "\x7f"sv,     "#"sv,   ";"sv,  " "sv,      "\0"sv,  "\xff"sv, "\xc3"sv, "\xc3\xa9"sv, "\xe2\x80\xae"sv,
    "a"sv,        "1"sv,   "_"sv,  "relay_"sv, "int"sv, "main"sv, "let"sv,  "if"sv,       "def"sv,
    "__init__"sv, "../"sv, "%"sv,  "@"sv};

std::string hostile_name(Random& random) {
  if (random.one_in(40)) return std::string(size_t{1} << random.below(14), 'n');
  std::string out;
  for (size_t n = random.below(12); n > 0; --n) out += random.of(kParts);
  return out;
}

// Is it a variable, a global, or a data type where it is defined?
bool is_name(const Tokens& tokens, size_t at) {
  if (tokens[at].kind != Kind::kWord) return false;
  if (tokens[at].text[0] == '%' || tokens[at].text[0] == '@') return true;
  return at >= 2 && tokens[at - 1].kind == Kind::kSpace && tokens[at - 2].text == "type";
}

}  // namespace

std::string mutate_names(const std::string& text, const Seeds& seeds, Random& random) {
  Tokens tokens = tokens_of(text);
  std::map<std::string, std::string> names;  // sorted, so that the draw depends on the text alone
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (is_name(tokens, i)) names.try_emplace(tokens[i].text);
  }
  const size_t every = 1 + random.below(3);  // all of them, or some
  for (auto& [old, name] : names) {
    if (!random.one_in(every)) continue;
    const bool has_sigil = old[0] == '%' || old[0] == '@';
    name = (has_sigil ? old.substr(0, 1) : "") + relay_quoted(hostile_name(random), '`');
  }
  for (Token& t : tokens) {
    const auto found = names.find(t.text);
    if (found != names.end() && !found->second.empty()) t.text = found->second;
  }
  std::string out = text_of(tokens);
  return random.one_in(4) ? mutate_text(out, seeds, random) : out;
}

std::string mutate_depth(const std::string& text, const Seeds& seeds, Random& random) {
  constexpr size_t kLongest = size_t{512} << 10, kTries = 8;
  Tokens tokens = tokens_of(text);
  // A group in brackets that holds another one, which it replaces, many times: (f(x)) becomes
  // (f(f(f(x)))).
  for (size_t tries = 0; tries < kTries; ++tries) {
    const auto [begin, end] = group_of(tokens, random);
    if (end < begin + 3) continue;
    const Tokens inside = part_of(tokens, begin + 1, end - 1);
    const auto [inner_begin, inner_end] = group_of(inside, random);
    if (inner_end == 0) continue;
    const std::string before = text_of(part_of(tokens, begin, begin + 1 + inner_begin));
    const std::string after = text_of(part_of(tokens, begin + 1 + inner_end, end));
    const size_t most = kLongest / (before.size() + after.size());
    std::string opened, closed;
    for (size_t n = std::min(size_t{1} << random.below(17), most); n > 0; --n) {
      opened += before;
      closed += after;
    }
    const std::string inner = text_of(part_of(inside, inner_begin, inner_end));
    return text_of(part_of(tokens, 0, begin)) + opened + inner + closed +
           text_of(part_of(tokens, end, tokens.size()));
  }
  return mutate_text(text, seeds, random);
}

}  // namespace relay::fuzz
