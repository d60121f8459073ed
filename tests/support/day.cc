#include "tests/support/day.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "base/cat.h"

namespace relay::tests {

uint64_t first_of_day() {
  using Days = std::chrono::duration<int64_t, std::ratio<86400>>;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto day = static_cast<uint64_t>(std::chrono::duration_cast<Days>(now).count());
  if (const char* given = std::getenv("RELAY_DAY")) {
    const std::string_view text = given;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), day);
    if (wrong != std::errc() || end != text.data() + text.size() || day > UINT64_MAX / kNumbersOfDay / 2)
      throw std::runtime_error(cat("RELAY_DAY is a number of days since 1970, and not `", text, "`"));
  }
  return day * kNumbersOfDay;
}

}  // namespace relay::tests
