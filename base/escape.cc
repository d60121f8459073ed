#include "base/escape.h"

#include <fmt/format.h>
#include <unordered_set>

#include "base/cat.h"

namespace relay {
namespace {

constexpr char kDelete = 0x7f;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == kDelete; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

std::string hexadecimal(char c) { return fmt::format("\\x{:02x}", static_cast<unsigned char>(c)); }

// Keywords of C, C++ and CUDA, and the few short names of their libraries that macros and
// globals may hold.
bool is_reserved(std::string_view name) {
  static const std::unordered_set<std::string_view> kReserved = {
      "alignas",      "alignof",       "and",         "and_eq",    "asm",       "auto",
      "bitand",       "bitor",         "bool",        "break",     "case",      "catch",
      "char",         "class",         "compl",       "concept",   "const",     "consteval",
      "constexpr",    "constinit",     "const_cast",  "continue",  "co_await",  "co_return",
      "co_yield",     "decltype",      "default",     "delete",    "do",        "double",
      "dynamic_cast", "else",          "enum",        "explicit",  "export",    "extern",
      "false",        "float",         "for",         "friend",    "goto",      "if",
      "inline",       "int",           "long",        "mutable",   "namespace", "new",
      "noexcept",     "not",           "not_eq",      "nullptr",   "operator",  "or",
      "or_eq",        "private",       "protected",   "public",    "register",  "reinterpret_cast",
      "requires",     "restrict",      "return",      "short",     "signed",    "sizeof",
      "static",       "static_assert", "static_cast", "struct",    "switch",    "template",
      "this",         "thread_local",  "throw",       "true",      "try",       "typedef",
      "typeid",       "typename",      "union",       "unsigned",  "using",     "virtual",
      "void",         "volatile",      "wchar_t",     "while",     "xor",       "xor_eq",
      "main",         "std",           "linux",       "unix",      "i386",      "errno",
      "stdin",        "stdout",        "stderr",      "parallel",  "failure",   "closure",
      "begin",        "end",           "blockIdx",    "threadIdx", "blockDim",  "gridDim",
      "warpSize",     "typeof",        "far",         "near"};
  return kReserved.contains(name);
}

// Within a comment of C, and of whatever begins a comment by one mark. A backslash is written as a
// number: the last one of a line would join the next line to it. `??/` is a backslash to C99.
std::string in_comment(std::string_view text) {
  std::string out;
  for (char c : text) {
    const char before = out.empty() ? '\0' : out.back();
    const bool opens_or_ends = (before == '*' && c == '/') || (before == '/' && c == '*');
    if (opens_or_ends || (before == '?' && c == '?')) out += ' ';
    out += is_printable(c) && c != '\\' ? std::string(1, c) : hexadecimal(c);
  }
  return out;
}

}  // namespace

std::string c_identifier(std::string_view text) {
  constexpr size_t kLongest = 48;
  std::string out;
  bool meaningful = false;
  for (char c : text.substr(0, kLongest)) {
    const char kept = is_word(c) ? c : '_';
    // Double underscores belong to the compiler.
    if (kept == '_' && !out.empty() && out.back() == '_') continue;
    out += kept;
    meaningful |= kept != '_';
  }
  while (!out.empty() && out.front() == '_') out.erase(0, 1);
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (!meaningful) return "unnamed";
  // Types of the standard library and macros: int8_t, INFINITY, RELAY_FUNCTION.
  const bool type = out.size() > 2 && out.ends_with("_t");
  bool shouting = out.size() > 1;
  for (char c : out) shouting &= !(c >= 'a' && c <= 'z');
  if (is_digit(out.front()) || is_reserved(out) || type || shouting || out.starts_with("relay_"))
    out = "v_" + out;
  return out;
}

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (is_printable(c) && c != '"' && c != '\\' && c != '?') {
      out += c;
    } else {
      // An octal number ends after three digits, a hexadecimal one does not.
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string line_comment(std::string_view mark, std::string_view text) {
  return cat(mark, " ", in_comment(text));
}

std::string block_comment(std::span<const std::string> lines) {
  std::string out = "/*";
  for (size_t i = 0; i < lines.size(); ++i)
    out += cat(i == 0 ? "" : " *", lines[i].empty() ? "" : " ", in_comment(lines[i]), "\n");
  return out + " */\n";
}

std::string relay_quoted(std::string_view text, char mark) {
  std::string out(1, mark);
  for (char c : text) {
    if (c == mark || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += is_control(c) ? hexadecimal(c) : std::string(1, c);
    }
  }
  return out + mark;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n':
      case '\t': out += c; break;
      default: out += is_control(c) ? hexadecimal(c) : std::string(1, c);
    }
  }
  return out;
}

std::string shell_word(std::string_view word) {
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:%@";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string harmless(std::string_view text, std::string_view keep) {
  std::string out;
  for (char c : text) {
    if (is_control(c) && keep.find(c) == std::string_view::npos) {
      out += hexadecimal(c);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace relay
