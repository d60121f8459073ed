#include "passes/lists.h"

#include "base/cat.h"

namespace relay::passes {

std::vector<std::string> list_of(const std::map<std::string, int64_t>& values, std::string_view parameter) {
  std::vector<std::string> out(static_cast<size_t>(values.at(std::string(parameter))));
  const std::string key = cat(parameter, "=");
  for (auto it = values.lower_bound(key); it != values.end() && it->first.starts_with(key); ++it)
    out[static_cast<size_t>(it->second) - 1] = it->first.substr(key.size());
  return out;
}

bool read_list(std::string_view text, std::string_view parameter, std::map<std::string, int64_t>& values) {
  int64_t& count = values[std::string(parameter)];
  for (const std::string& item : list_of(values, parameter)) values.erase(cat(parameter, "=", item));
  count = 0;
  for (bool more = true; more;) {
    const size_t plus = text.find('+');
    more = plus != std::string_view::npos;
    const std::string_view item = text.substr(0, plus);
    if (item.empty() || !values.emplace(cat(parameter, "=", item), count + 1).second) return false;
    ++count;
    if (more) text.remove_prefix(plus + 1);
  }
  return true;
}

std::string show_list(const std::map<std::string, int64_t>& values, std::string_view parameter) {
  return join(list_of(values, parameter), "+", [](const std::string& item) { return item; });
}

}  // namespace relay::passes
