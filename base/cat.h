// cat(a, b, ...): the text of its arguments, one after the other.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace relay {

template <class... Args>
std::string cat(const Args&... args) {
  std::string out;
  (fmt::format_to(std::back_inserter(out), "{}", args), ...);
  return out;
}

// join({"a", "b"}, ", ") == "a, b"; `show` turns an item into something that fmt can print.
template <class Items, class Show>
std::string join(const Items& items, std::string_view separator, Show&& show) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    fmt::format_to(std::back_inserter(out), "{}", show(item));
  }
  return out;
}
template <class Items>
std::string join(const Items& items, std::string_view separator) {
  return join(items, separator, [](const auto& item) -> const auto& { return item; });
}

}  // namespace relay
