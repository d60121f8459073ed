#include "tools/input_shape_text.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "base/trimmed.h"
#include "tools/options/values.h"

namespace relay::tools {
namespace {

constexpr std::string_view kBlanks = " ";

bool is_name(const std::string& text) {
  for (char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0]));
}

std::optional<frontend::InputDim> parse_dim(const std::string& text) {
  if (text == "?") return frontend::InputDim{};
  if (is_name(text)) return frontend::InputDim{-1, text};
  if (text == "-1") return frontend::InputDim{-1, {}};
  const std::optional<uint64_t> extent = parse_count(text);
  if (!extent || *extent > INT64_MAX) return std::nullopt;
  return frontend::InputDim{static_cast<int64_t>(*extent), {}};
}

}  // namespace

bool parse_input_shape(const std::string& text, driver::InputShapes& out) {
  // Names of inputs may hold colons themselves: the last one counts.
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::string dims(trimmed(std::string_view(text).substr(colon + 1), kBlanks));
  const bool brackets = dims.size() >= 2 && dims.front() == '[' && dims.back() == ']';
  if (brackets) dims = dims.substr(1, dims.size() - 2);
  const char separator = brackets || dims.find(',') != std::string::npos ? ',' : 'x';
  std::vector<frontend::InputDim> shape;
  for (size_t begin = 0; begin <= dims.size() && !dims.empty();) {
    const size_t end = std::min(dims.find(separator, begin), dims.size());
    const std::string_view one = trimmed(std::string_view(dims).substr(begin, end - begin), kBlanks);
    const std::optional<frontend::InputDim> dim = parse_dim(std::string(one));
    if (!dim) return false;
    shape.push_back(*dim);
    begin = end + 1;
  }
  return out.emplace(text.substr(0, colon), std::move(shape)).second;
}

}  // namespace relay::tools
