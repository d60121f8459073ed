#include "tools/options/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/cat.h"
#include "base/nearest.h"

namespace relay::tools {
namespace {

constexpr uint64_t kMostCount = UINT64_MAX;

// A check that leaves the number's canonical text for the option to convert. `range` is
// what --help shows.
template <class Parse>
Check check_of(const std::string& range, const std::string& expected, Parse parse) {
  return {[parse, expected](std::string& text) {
            const std::optional<std::string> canonical = parse(text);
            if (!canonical) return cat("`", text, "` is not ", expected);
            text = *canonical;
            return std::string();
          },
          range};
}

// Text that from_chars reads from its first byte to its last.
template <class T>
std::optional<T> whole(std::string_view text) {
  T value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The power of 1024 that a unit names; nullopt for what is none.
std::optional<int> power_of(std::string_view unit) {
  std::string lower;
  for (const char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.empty() || lower == "b") return 0;
  static constexpr std::string_view kPrefixes = "kmgtp";
  const size_t power = kPrefixes.find(lower[0]);
  const std::string_view rest = std::string_view(lower).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return static_cast<int>(power) + 1;
}

}  // namespace

std::optional<uint64_t> parse_count(std::string_view text) { return whole<uint64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> value = whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  const std::optional<int> power = power_of(text.substr(unit));
  if (!power) return std::nullopt;
  const int bits = 10 * *power;
  if (const std::optional<uint64_t> exact = parse_count(text.substr(0, digits)))
    return *exact <= (kMostCount >> bits) ? std::optional(*exact << bits) : std::nullopt;
  const std::optional<double> value = parse_number(text.substr(0, digits));
  if (!value || std::ldexp(*value, bits) >= 0x1p64) return std::nullopt;
  return static_cast<uint64_t>(std::ldexp(*value, bits));
}

Check count(uint64_t least, uint64_t most) {
  const bool bounded = most < INT64_MAX;  // what an option's variable holds at most is no bound to name
  const std::string expected =
      bounded ? cat("a whole number from ", least, " to ", most) : cat("a whole number from ", least, " on");
  const std::string range = bounded ? cat(least, " to ", most) : cat(least, " or more");
  return check_of(range, expected, [=](const std::string& text) -> std::optional<std::string> {
    const std::optional<uint64_t> value = parse_count(text);
    if (!value || *value < least || *value > most) return std::nullopt;
    return cat(*value);
  });
}

Check count_from(uint64_t least) { return count(least, kMostCount); }

Check size() {
  return check_of("such as 2GB", "a size of at least one byte, such as 4096, 300MB or 1.5GB",
                  [](const std::string& text) -> std::optional<std::string> {
                    const std::optional<uint64_t> bytes = parse_size(text);
                    if (!bytes || *bytes == 0) return std::nullopt;
                    return cat(*bytes);
                  });
}

Check seconds() {
  return check_of("0 or more", "a number of seconds, 0 or more, such as 0.5",
                  [](const std::string& text) -> std::optional<std::string> {
                    const std::optional<double> value = parse_number(text);
                    if (!value || std::signbit(*value)) return std::nullopt;
                    return text;
                  });
}

Check one_of(std::string what, std::vector<std::string> words) {
  const std::string all = cat("{", join(words, ","), "}");
  return {[what = std::move(what), words = std::move(words)](std::string& text) {
            return std::find(words.begin(), words.end(), text) != words.end() ? std::string()
                                                                              : no_such(what, text, words);
          },
          all};
}

Check number(double least, double most) {
  return check_of(fmt::format("{:g} to {:g}", least, most),
                  fmt::format("a number from {:g} to {:g}", least, most),
                  [=](const std::string& text) -> std::optional<std::string> {
                    const std::optional<double> value = parse_number(text);
                    if (!value || *value < least || *value > most) return std::nullopt;
                    return text;
                  });
}

}  // namespace relay::tools
