// The words of a line that was typed, and of an answer.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/trimmed.h"

namespace relay::tools::debug {

// The first word, and what follows it.
inline std::pair<std::string_view, std::string_view> first_word(std::string_view text) {
  text = trimmed(text);
  const size_t end = text.find_first_of(" \t\r\n\v\f");
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), trimmed(text.substr(end))};
}

// A number of digits only; nothing if it is something else or does not fit.
inline std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace relay::tools::debug
