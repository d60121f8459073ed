#include "frontend/onnx/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace relay::frontend {

std::string printable(std::string_view text, size_t most) {
  std::string out;
  for (char c : text) {
    if (out.size() >= most) return out + "...";
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string identifier(std::string_view text) {
  constexpr size_t kLongest = 60;
  constexpr std::string_view kWords[] = {"def",    "let",    "fn",   "if",    "else",   "match", "type",
                                         "extern", "meta",   "True", "False", "min",    "max",   "ref",
                                         "None",   "Tensor", "true", "false", "select", "where", "nat"};
  std::string out;
  for (char c : text.substr(0, kLongest)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out += 'd';
    out += letter || digit ? c : '_';
  }
  if (out.empty() || out.find_first_not_of('_') == std::string::npos) out = "dim";
  if (std::find(std::begin(kWords), std::end(kWords), out) != std::end(kWords)) out += '_';
  return out;
}

}  // namespace relay::frontend
