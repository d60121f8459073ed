// harmless: a text from a file as it may be shown.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "base/cat.h"

namespace relay {

// Names and texts from a file stand in what is printed, and a terminal would obey their control characters: all but those
// in `keep` are written as \x1b.
inline std::string harmless(std::string_view text, std::string_view keep = "\n") {
  std::string out;
  for (char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 || c == 0x7f) && keep.find(c) == std::string_view::npos) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace relay
