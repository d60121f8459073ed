#include "ir/text/names.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/cat.h"
#include "base/escape.h"
#include "runtime/dtype.h"

namespace relay::text {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool plain_name(std::string_view name) {
  static const RE2 kName("[A-Za-z_](?:/?[A-Za-z0-9_])*", RE2::Latin1);
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), kName);
}

bool keyword(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "let",      "fn",        "def",  "if",    "else", "type",   "match", "extern", "free_var", "ref",
      "ref_read", "ref_write", "True", "False", "meta", "tensor", "const", "ctor",   "op"};
  return std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
}

std::string quoted_name(std::string_view name) {
  return plain_name(name) ? std::string(name) : relay_quoted(name, '`');
}

std::string quoted_dotted_name(std::string_view name) {
  static const RE2 kDotted("[A-Za-z_](?:/?[A-Za-z0-9_])*(?:\\.[A-Za-z_](?:/?[A-Za-z0-9_])*)*", RE2::Latin1);
  const bool plain = RE2::FullMatch(re2::StringPiece(name.data(), name.size()), kDotted) && !keyword(name);
  return plain ? std::string(name) : relay_quoted(name, '`');
}

std::string quoted_word(std::string_view name) {
  static const RE2 kReserved("Tensor|_|None|nullptr|(?:inf|nan|u?int|float|bfloat|bool)[0-9a-z_]*",
                             RE2::Latin1);
  const bool reserved =
      keyword(name) || RE2::FullMatch(re2::StringPiece(name.data(), name.size()), kReserved);
  return plain_name(name) && !reserved ? std::string(name) : relay_quoted(name, '`');
}

std::string quoted_string(std::string_view text) { return relay_quoted(text, '"'); }

std::string unescaped(std::string_view inside) {
  std::string out;
  for (size_t i = 0; i < inside.size(); ++i) {
    const char c = inside[i];
    if (c != '\\' || i + 1 == inside.size()) {
      out += c;
      continue;
    }
    const char e = inside[++i];
    if (e == '\\' || e == '"' || e == '`') {
      out += e;
    } else if (e == 'n') {
      out += '\n';
    } else if (e == 'r') {
      out += '\r';
    } else if (e == 't') {
      out += '\t';
    } else if (e == 'x' && i + 2 < inside.size() && hex_digit(inside[i + 1]) >= 0 &&
               hex_digit(inside[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(inside[i + 1]) * 16 + hex_digit(inside[i + 2]));
      i += 2;
    } else {
      out += '\\';
      out += e;
    }
  }
  return out;
}

}  // namespace relay::text
