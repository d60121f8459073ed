#include "kernel/print/names.h"

#include <fmt/format.h>
#include <unordered_set>

#include "base/cat.h"

namespace relay::kernel {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }

// Keywords of C, C++ and CUDA, and the few short names of their libraries that macros and globals may hold.
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

}  // namespace

std::string identifier(std::string_view text) {
  std::string out;
  bool meaningful = false;
  for (char c : text.substr(0, 48)) {
    const char kept = is_word(c) ? c : '_';
    if (kept == '_' && !out.empty() && out.back() == '_')
      continue;  // double underscores belong to the compiler
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

std::string comment(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 200)) out += c >= ' ' && c <= '~' && c != '\\' ? c : '?';
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    if ((out[i] == '*' && out[i + 1] == '/') || (out[i] == '/' && out[i + 1] == '*') ||
        (out[i] == '?' && out[i + 1] == '?')) {
      out[i + 1] = '_';
    }
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      out += '\\';
      out += c;
    } else if (byte >= ' ' && byte <= '~') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:03o}",
                     byte);  // octal ends after three digits, \x does not
    }
  }
  return out + "\"";
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.')) &&
        (end == text.size() || !is_word(text[end])))
      return true;
  }
  return false;
}

std::string Names::unique(std::string_view wanted) {
  const std::string name = identifier(wanted);
  std::string candidate = name;
  if (!taken_.try_emplace(name, 2).second) {
    int& next = taken_[name];
    do {
      candidate = cat(name, "_", next++);
    } while (taken_.contains(candidate));
    taken_.emplace(candidate, 2);
  }
  return candidate;
}

}  // namespace relay::kernel
